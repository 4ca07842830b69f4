// SPDX-License-Identifier: MIT
// Splits untrusted text into numbers, names and signs. Signs include those that people paste, such as × and ².
#include "token.hpp"

#include <algorithm>
#include <array>

#include "text/read_number.hpp"

namespace gradwalk::detail {
namespace {

struct Sign {
  std::string_view text;
  Kind kind;
  char sign;
};

// The longest signs are first, so that ** is not read as *. The escapes are · × ÷ − ² ³ in UTF-8.
constexpr std::array signs{
    Sign{"**", Kind::sign, '^'},
    Sign{"\xc2\xb7", Kind::sign, '*'},
    Sign{"\xc3\x97", Kind::sign, '*'},
    Sign{"\xc3\xb7", Kind::sign, '/'},
    Sign{"\xe2\x88\x92", Kind::sign, '-'},
    Sign{"\xc2\xb2", Kind::sign, '2'},
    Sign{"\xc2\xb3", Kind::sign, '3'},
    Sign{"^", Kind::sign, '^'},
    Sign{"*", Kind::sign, '*'},
    Sign{"/", Kind::sign, '/'},
    Sign{"+", Kind::sign, '+'},
    Sign{"-", Kind::sign, '-'},
    Sign{"(", Kind::open, 0},
    Sign{")", Kind::close, 0},
    Sign{",", Kind::comma, 0},
    Sign{"=", Kind::assign, 0},
    Sign{";", Kind::separator, 0},
    Sign{"\n", Kind::separator, 0},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Returns the number of bytes of a Greek letter at the front: U+0386 to U+03F5, with accented and variant letters; or
// 0.
std::size_t greek_letter(std::string_view text) {
  if (text.size() < 2 || (text[0] != '\xce' && text[0] != '\xcf')) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_greek =
      text[0] == '\xce' ? second >= 0x86 && second <= 0xbf && second != 0x87 : second >= 0x80 && second <= 0xb5;
  return is_greek ? 2 : 0;
}

// Returns the number of bytes of a subscript at the front: U+2080 to U+2089 and U+2090 to U+209C; or 0.
std::size_t subscript(std::string_view text) {
  if (!text.starts_with("\xe2\x82") || text.size() < 3) return 0;
  const auto third = static_cast<unsigned char>(text[2]);
  return (third >= 0x80 && third <= 0x89) || (third >= 0x90 && third <= 0x9c) ? 3 : 0;
}

std::size_t starts_name(std::string_view text) { return is_letter(text[0]) ? 1 : greek_letter(text); }
std::size_t continues_name(std::string_view text) {
  if (const std::size_t size = starts_name(text); size > 0) return size;
  return is_digit(text[0]) ? 1 : subscript(text);
}

}  // namespace

Token Tokens::number_at(std::size_t at) {
  const auto [size, error, number] = read_number(text_.substr(at));
  const std::string_view written = text_.substr(at, size);
  if (error == std::errc::result_out_of_range)
    return fail(at, "a number between 5e-324 and 1.8e308", written, "write one a double can hold");
  if (error != std::errc()) return fail(at, "a number", text_.substr(at, 1), "write digits");
  at_ = at + written.size();
  return {Kind::number, at, written, 0, number};
}

Token Tokens::next() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  if (at_ == text_.size()) return {Kind::end, at_, "", 0, 0};
  const std::size_t at = at_;
  if (is_digit(text_[at]) || (text_[at] == '.' && at + 1 < text_.size() && is_digit(text_[at + 1])))
    return number_at(at);
  if (starts_name(text_.substr(at)) > 0) {
    for (std::size_t size = 1; at_ < text_.size() && size > 0; at_ += size) size = continues_name(text_.substr(at_));
    return {Kind::name, at, text_.substr(at, at_ - at), 0, 0};
  }
  for (const Sign& sign : signs) {
    if (!text_.substr(at).starts_with(sign.text)) continue;
    at_ += sign.text.size();
    return {sign.kind, at, text_.substr(at, sign.text.size()), sign.sign, 0};
  }
  const auto byte = static_cast<unsigned char>(text_[at]);
  std::size_t size = 1;  // the bytes of the whole character
  while (at + size < text_.size() && (static_cast<unsigned char>(text_[at + size]) & 0xc0) == 0x80) ++size;
  const bool is_visible = byte > ' ' && byte != 0x7f && (byte < 0x80 || size > 1);
  return fail(at, "a number, a name or a sign",
              is_visible ? "'" + std::string(text_.substr(at, size)) + "'" : "byte " + std::to_string(byte),
              "names consist of letters, also Greek ones, digits, subscripts and _");
}

Token Tokens::fail(std::size_t at, std::string_view needs, std::string_view got, std::string_view advice) {
  failure_.emplace(text_, at, needs, got, advice);
  at_ = text_.size();
  return {Kind::error, at, "", 0, 0};
}

}  // namespace gradwalk::detail
