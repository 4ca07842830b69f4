// SPDX-License-Identifier: MIT
// Makes axes. Ticks are whole multiples of their step, so that 0 is 0 and 0.3 is not 0.30000000000000004.
#include "axis.hpp"

#include <algorithm>
#include <charconv>

#include "text/numbers.hpp"

namespace gradwalk::detail {
namespace {

// Returns the smallest of 1, 2, 5 times a power of ten that is not below `at_least`.
double round_step(double at_least) {
  const double power = std::pow(10, std::floor(std::log10(at_least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= at_least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

// Replaces a hyphen at the front by a minus sign, which is as wide as a digit.
std::string with_minus(std::string_view text) {
  return text.starts_with('-') ? std::string("\xE2\x88\x92").append(text.substr(1)) : std::string(text);
}

// Returns the text of a tick: 20,000 or 0.25; with an exponent, as 1.2e6, where that would be long.
std::string tick_text(double number, double step, double largest) {
  const auto exponent = [](double of) { return static_cast<int>(std::floor(std::log10(of) + 1e-9)); };
  const int decimals = std::max(0, -exponent(step));
  char text[64];
  const auto format = [&](std::chars_format how, int digits) {
    return std::string_view(
        text, static_cast<std::size_t>(std::to_chars(text, text + sizeof text, number, how, digits).ptr - text));
  };
  if (largest < 1e6 && decimals <= 5) {
    std::string plain(format(std::chars_format::fixed, decimals));
    if (std::abs(number) >= 1e4) plain.insert(std::min(plain.find('.'), plain.size()) - 3, ",");
    return with_minus(plain);
  }
  if (number == 0) return "0";
  const std::string_view whole =
      format(std::chars_format::scientific, std::clamp(exponent(largest) - exponent(step), 0, 15));
  const std::size_t e = whole.find('e');
  std::string result = with_minus(whole.substr(0, e + 1));
  if (whole[e + 1] == '-') result += "\xE2\x88\x92";
  return result.append(whole.substr(std::min(whole.find_first_not_of('0', e + 2), whole.size() - 1)));
}

std::string power_of_ten(int exponent) {
  if (exponent >= -4 && exponent <= 5) return short_number(std::pow(10, exponent));
  constexpr const char* raised[] = {"\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
                                    "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
  std::string text = exponent < 0 ? "10\xE2\x81\xBB" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += raised[digit - '0'];
  return text;
}

}  // namespace

double Axis::part(double number) const {
  if (is_log) return number > 0 ? std::max(0.0, range.part(std::log10(number))) : 0;
  return range.part(number);
}

Axis plain_axis(const Range& range, int ticks, bool whole) {
  Axis axis{range, false, {}};
  double step = round_step((range.high - range.low) / ticks);
  if (whole) step = std::max(step, 1.0);
  const double largest = std::max(std::abs(range.low), std::abs(range.high)), slack = step * 1e-9;
  const double first = std::ceil((range.low - slack) / step);
  for (int i = 0; i <= 4 * ticks; ++i) {
    const double number = (first + i) * step;
    if (number > range.high + slack) break;
    axis.ticks.push_back({number, tick_text(number + 0.0, step, largest)});
  }
  return axis;
}

Axis log_axis(const Range& logarithms, int ticks) {
  Axis axis{logarithms, true, {}};
  const int first = static_cast<int>(std::ceil(logarithms.low - 1e-9));
  const int last = static_cast<int>(std::floor(logarithms.high + 1e-9));
  const int stride = std::max(1, static_cast<int>(std::ceil((last - first) / static_cast<double>(ticks))));
  const bool few = last - first < 2;  // then powers of ten alone would leave the axis nearly empty
  for (int exponent = few ? first - 1 : first; exponent <= last; exponent += stride) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double logarithm = exponent + std::log10(digit), number = digit * std::pow(10, exponent);
      const bool is_out = logarithm < logarithms.low - 1e-9 || logarithm > logarithms.high + 1e-9;
      if (is_out || (digit > 1 && !few) || number == 0 || std::isinf(number)) continue;
      axis.ticks.push_back({number, digit > 1 ? short_number(number) : power_of_ten(exponent)});
    }
  }
  return axis;
}

}  // namespace gradwalk::detail
