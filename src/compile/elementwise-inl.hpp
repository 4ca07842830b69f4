// SPDX-License-Identifier: MIT
// Kernels that go through arrays number by number: every op's value and derivatives, sums of products, totals.
//
// Included once for each instruction set. A loop does whole vectors, then what is left in one that is partly used.
#if defined(GRADWALK_COMPILE_ELEMENTWISE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_ELEMENTWISE_INL_HPP
#undef GRADWALK_COMPILE_ELEMENTWISE_INL_HPP
#else
#define GRADWALK_COMPILE_ELEMENTWISE_INL_HPP
#endif

#include <array>
#include <span>
#include <string_view>

#include "compile/functions-inl.hpp"
#include "compile/kernels.hpp"
#include "compile/lanes-inl.hpp"
#include "compile/rule_operands.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

template <class T> HWY_INLINE Lanes<T> load(const T* from) { return hn::LoadU(Tag<T>(), from); }
template <class T> HWY_INLINE void store(Lanes<T> x, T* to) { hn::StoreU(x.v, Tag<T>(), to); }

// Where a kernel stands: at a whole vector, or at the last n numbers.
template <class T> struct Whole {
  HWY_INLINE Lanes<T> get(const T* from) const { return load(from); }
  HWY_INLINE void put(Lanes<T> x, T* to) const { store(x, to); }
};
template <class T> struct Rest {
  FirstLanes<T> part;

  HWY_INLINE explicit Rest(std::size_t n) : part(n) {}
  HWY_INLINE Lanes<T> get(const T* from) const { return load_some<T>(from, part); }
  HWY_INLINE void put(Lanes<T> x, T* to) const { store_some<T>(x.v, to, part); }
};

// An operand to read from; what is nullptr is 1.
template <class T> struct Source {
  const T* at;
  bool each;
  Lanes<T> all;

  HWY_INLINE explicit Source(In<T> in)
      : at(in.at), each(at != nullptr && in.stride != 0), all(at == nullptr ? T{1} : *at) {}
  template <class Part> HWY_INLINE Lanes<T> get(std::size_t i, Part part) const {
    return each ? part.get(at + i) : all;
  }
};

// Runs the kernel's body at every vector: body.at(i, Whole or Rest).
template <class T, class Body> HWY_INLINE void each_vector(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) body.at(i, Whole<T>());
  if (i < n) body.at(i, Rest<T>(n - i));
}

enum class Of { value, dx, dy };

template <Op op, Of of> inline constexpr std::string_view rule_of = of == Of::value ? info(op).value
                                                                    : of == Of::dx  ? info(op).dx
                                                                                    : info(op).dy;

// An op's operands; those that the rule does not mention are not read.
template <class T, Op op, Of of> struct Operands {
  Source<T> x, y, z;

  HWY_INLINE explicit Operands(const In<T>* in) : x(wanted<0>(in)), y(wanted<1>(in)), z(wanted<2>(in)) {}
  template <class Part> HWY_INLINE Lanes<T> apply(std::size_t i, Part part, Lanes<T> r) const {
    const Lanes<T> a = x.get(i, part), b = y.get(i, part), c = z.get(i, part);
    if constexpr (of == Of::value) return LaneRule<op>::template value<Lanes<T>>(a, b, c);
    if constexpr (of == Of::dx) return LaneRule<op>::template dx<Lanes<T>>(a, b, c, r);
    if constexpr (of == Of::dy) return LaneRule<op>::template dy<Lanes<T>>(a, b, c, r);
  }

 private:
  template <std::size_t operand> static HWY_INLINE In<T> wanted(const In<T>* in) {
    if constexpr (mentions_operand(op, rule_of<op, of>, operand)) return in[operand];
    return {};
  }
};

template <class T, Op op> struct ValueBody {
  Operands<T, op, Of::value> operands;
  T* out;

  template <class Part> HWY_INLINE void at(std::size_t i, Part part) const {
    part.put(operands.apply(i, part, Lanes<T>()), out + i);
  }
};
template <class T, Op op> void value(std::size_t n, const In<T>* in, T* out) {
  if (n > 0) each_vector<T>(n, ValueBody<T, op>{Operands<T, op, Of::value>(in), out});
}

// gradient * local, and 0 where nothing is to be passed on, whatever local is.
template <class T> HWY_INLINE Lanes<T> passed_on(Lanes<T> gradient, Lanes<T> local) {
  return select(gradient == 0, 0, gradient * local);
}

template <class T, Op op, Of of> struct LocalBody {
  Operands<T, op, of> operands;
  Source<T> r, g;
  T* out;
  bool add;

  template <class Part> HWY_INLINE void at(std::size_t i, Part part) const {
    constexpr bool reads_r = mentions(rule_of<op, of>, 'r');
    Lanes<T> result = 1;
    if constexpr (reads_r) result = r.get(i, part);
    const Lanes<T> by = operands.apply(i, part, result);
    Lanes<T> deposit = passed_on(g.get(i, part), by);
    if constexpr (info(op).operands == 3) deposit = select(by == 0, 0, deposit);  // what was not chosen gets nothing
    part.put(add ? part.get(out + i) + deposit : deposit, out + i);
  }
};
template <class T, Op op, Of of> void local(std::size_t n, const In<T>* in, In<T> r, In<T> g, T* out, bool add) {
  constexpr bool reads_r = mentions(rule_of<op, of>, 'r');
  if (n > 0)
    each_vector<T>(
        n, LocalBody<T, op, of>{Operands<T, op, of>(in), Source<T>(reads_r ? r : In<T>{}), Source<T>(g), out, add});
}

template <class T> typename Kernels<T>::Value value_of(Op op) {
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return &value<T, Op::name>;
#define GRADWALK_BINARY GRADWALK_UNARY
#define GRADWALK_TERNARY GRADWALK_UNARY
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    default: return nullptr;
  }
}

template <class T, Op op, Of of> constexpr typename Kernels<T>::Local local_unless_0() {
  if constexpr (rule_of<op, of> == "0")
    return nullptr;
  else
    return &local<T, op, of>;
}
template <class T> typename Kernels<T>::Local local_of(Op op, std::size_t by) {
  switch (op) {
#define GRADWALK_UNARY(name, ...) \
  case Op::name: return by == 0 ? local_unless_0<T, Op::name, Of::dx>() : nullptr;
#define GRADWALK_BINARY(name, ...) \
  case Op::name:                   \
    return by == 0 ? local_unless_0<T, Op::name, Of::dx>() : by == 1 ? local_unless_0<T, Op::name, Of::dy>() : nullptr;
#define GRADWALK_TERNARY(name, ...) \
  case Op::name:                    \
    return by == 1 ? local_unless_0<T, Op::name, Of::dx>() : by == 2 ? local_unless_0<T, Op::name, Of::dy>() : nullptr;
#include "gradwalk/ops.def"
#undef GRADWALK_UNARY
#undef GRADWALK_BINARY
#undef GRADWALK_TERNARY
    default: return nullptr;
  }
}

// Runs the body at every number of a vector: body.at<registers>(i, Whole or Rest). Several registers at a time, so that
// what goes for them all is looked at once.
template <class T, class Body> HWY_INLINE void each_piece(std::size_t n, const Body& body) {
  std::size_t i = 0;
  for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>) body.template at<4>(i, Whole<T>());
  for (; i + lanes<T> <= n; i += lanes<T>) body.template at<1>(i, Whole<T>());
  if (i < n) body.template at<1>(i, Rest<T>(n - i));
}

// The operand's numbers for a vector; where there is only one, these.
template <class T> HWY_INLINE Source<T> source_of(const In<T>& in, std::size_t) { return Source<T>(in); }
template <class T> HWY_INLINE Source<T> source_of(const InSteps<T>& in, std::size_t vector) {
  return Source<T>(
      In<T>{in.at == nullptr ? nullptr : in.at + static_cast<std::ptrdiff_t>(vector) * in.step, in.stride});
}

// With skip_zeros, a term is 0 where factor * a is, whatever b is.
template <class T, class Operand, class OneTerm, bool skip_zeros = false> struct SumsBody {
  std::size_t vector;
  Operand start;
  std::span<const OneTerm> terms;
  T* out;

  template <std::size_t registers, class Part> HWY_INLINE void at(std::size_t i, Part part) const {
    constexpr std::size_t step = lanes<T>;
    Lanes<T> sum[registers];
    for (std::size_t r = 0; r < registers; ++r)
      sum[r] = start.at == nullptr ? Lanes<T>(-0.0) : source_of(start, vector).get(i + r * step, part);  // -0: no start
    for (const OneTerm& term : terms) {
      const Source<T> factor = source_of(term.factor, vector), a = source_of(term.a, vector),
                      b = source_of(term.b, vector);
      for (std::size_t r = 0; r < registers; ++r) {
        const std::size_t place = i + r * step;
        const Lanes<T> scaled = factor.get(place, part) * a.get(place, part);
        Lanes<T> other = b.get(place, part);
        if constexpr (skip_zeros) other = select(scaled == 0, 0, other);
        sum[r] = hn::MulAdd(scaled.v, other.v, sum[r].v);
      }
    }
    for (std::size_t r = 0; r < registers; ++r) part.put(sum[r], out + i + r * step);
  }
};
template <class T> void sums(std::size_t n, In<T> start, std::span<const Term<T>> terms, T* out) {
  each_piece<T>(n, SumsBody<T, In<T>, Term<T>>{0, start, terms, out});
}
template <class T> void sums_without_zeros(std::size_t n, In<T> start, std::span<const Term<T>> terms, T* out) {
  each_piece<T>(n, SumsBody<T, In<T>, Term<T>, true>{0, start, terms, out});
}
template <class T, bool skip_zeros> void sums_in_steps(std::size_t vectors, std::size_t n, InSteps<T> start,
                                                       std::span<const TermInSteps<T>> terms, T* out,
                                                       std::size_t out_step) {
  for (std::size_t v = 0; v < vectors; ++v, out += out_step)
    each_piece<T>(n, SumsBody<T, InSteps<T>, TermInSteps<T>, skip_zeros>{v, start, terms, out});
}

// The sum over i of a * b * c, a term being 0 where zero_apart is set and a * b is 0. Four sums side by side.
template <class T, bool zero_apart> struct Total {
  Source<T> a, b, c;

  template <class Part> HWY_INLINE void add_to(Lanes<T>& sum, std::size_t i, Part part) const {
    const Lanes<T> ab = a.get(i, part) * b.get(i, part);
    Lanes<T> factor = c.get(i, part);
    if constexpr (zero_apart) factor = select(ab == 0, 0, factor);
    sum = hn::MulAdd(ab.v, factor.v, sum.v);
  }
  HWY_INLINE void add_all(Lanes<T> (&sum)[4], std::size_t n) const {
    std::size_t i = 0;
    for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>)
      for (std::size_t v = 0; v < 4; ++v) add_to(sum[v], i + v * lanes<T>, Whole<T>());
    for (; i + lanes<T> <= n; i += lanes<T>) add_to(sum[0], i, Whole<T>());
    if (i < n) {
      Lanes<T> last = 0.0;
      add_to(last, i, Rest<T>(n - i));
      sum[1] = sum[1] + hn::IfThenElseZero(hn::FirstN(Tag<T>(), n - i), last.v);
    }
  }
  HWY_INLINE T over(std::size_t n) const {
    const Tag<T> d;
    Lanes<T> sum[4] = {0.0, 0.0, 0.0, 0.0};
    add_all(sum, n);
    return hn::GetLane(hn::SumOfLanes(d, ((sum[0] + sum[1]) + (sum[2] + sum[3])).v));
  }
};
template <class T> T pass_sum(std::size_t n, In<T> g, In<T> factor, In<T> b) {
  return n == 0 ? T{0} : Total<T, true>{Source<T>(g), Source<T>(factor), Source<T>(b)}.over(n);
}
template <class T> T dot(std::size_t n, In<T> factor, In<T> a, In<T> b) {
  return n == 0 ? T{0} : Total<T, false>{Source<T>(factor), Source<T>(a), Source<T>(b)}.over(n);
}

template <class T> void row_sum(std::size_t n, std::span<const Term<T>> terms, T* sums) {
  Lanes<T> sum[4] = {0.0, 0.0, 0.0, 0.0};
  for (const Term<T>& term : terms)
    Total<T, false>{Source<T>(term.factor), Source<T>(term.a), Source<T>(term.b)}.add_all(sum, n);
  store(load(sums) + ((sum[0] + sum[1]) + (sum[2] + sum[3])), sums);
}

// The most by the rule of max or min, which keeps a NaN.
template <class T, Op op> T most(std::size_t n, const T* x) {
  Lanes<T> found = *x;
  std::size_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) found = LaneRule<op>::template value<Lanes<T>>(found, load(x + i), found);
  if (i < n) found = LaneRule<op>::template value<Lanes<T>>(found, load_some<T>(x + i, FirstLanes<T>(n - i)), found);
  HWY_ALIGN T all[lanes<T>];
  store(found, all);
  for (std::size_t lane = 1; lane < lanes<T>; ++lane) all[0] = rules::Rule<op>::value(all[0], all[lane]);
  return all[0];
}

template <class T, Op op> struct ExtremesBody {
  std::span<const Term<T>> terms;
  T* out;

  template <class Part> HWY_INLINE void at(std::size_t i, Part part) const {
    Lanes<T> found = Source<T>(terms[0].a).get(i, part);
    for (const Term<T>& term : terms.subspan(1))
      found = LaneRule<op>::template value<Lanes<T>>(found, Source<T>(term.a).get(i, part), found);
    part.put(found, out + i);
  }
};
template <class T, Op op> void extremes(std::size_t n, std::span<const Term<T>> terms, T* out) {
  each_vector<T>(n, ExtremesBody<T, op>{terms, out});
}
template <class T> typename Kernels<T>::Extremes extremes_of(Op op) {
  return op == Op::max ? &extremes<T, Op::max> : &extremes<T, Op::min>;
}

// Mostly, one operand alone is the extreme, and receives the whole gradient. Otherwise, the extremes of the first
// operands are put where the shares will be, and the chain is differentiated from its last operation to its first.
template <class T, Op op> struct SharesBody {
  std::size_t n;
  Source<T> g;
  std::span<const Term<T>> terms;
  T* out;

  template <class Part> HWY_INLINE void at(std::size_t i, Part part) const {
    const auto in = [&](std::size_t t) HWY_ATTR { return Source<T>(terms[t].a).get(i, part); };
    Lanes<T> result = in(0);
    for (std::size_t t = 1; t < terms.size(); ++t)
      result = LaneRule<op>::template value<Lanes<T>>(result, in(t), result);
    Lanes<T> equal = 0, gradient = g.get(i, part);
    for (std::size_t t = 0; t < terms.size(); ++t) equal = equal + select(in(t) == result, 1, 0);
    const auto is_whole = hn::And((equal == 1).m, (gradient - gradient == 0).m);
    if (hn::AllTrue(Tag<T>(), hn::Or((gradient == 0).m, is_whole))) {
      for (std::size_t t = 0; t < terms.size(); ++t) part.put(select(in(t) == result, gradient, 0), out + t * n + i);
      return;
    }
    result = in(0);
    part.put(result, out + i);
    for (std::size_t t = 1; t < terms.size(); ++t) {
      result = LaneRule<op>::template value<Lanes<T>>(result, in(t), result);
      part.put(result, out + t * n + i);
    }
    for (std::size_t t = terms.size() - 1; t > 0; --t) {
      const Lanes<T> x = part.get(out + (t - 1) * n + i), y = in(t);
      part.put(passed_on<T>(gradient, LaneRule<op>::template dy<Lanes<T>>(x, y, y, result)), out + t * n + i);
      gradient = passed_on<T>(gradient, LaneRule<op>::template dx<Lanes<T>>(x, y, y, result));
      result = x;
    }
    part.put(gradient, out + i);
  }
};
template <class T, Op op> void shares(std::size_t n, In<T> g, std::span<const Term<T>> terms, T* out) {
  each_vector<T>(n, SharesBody<T, op>{n, Source<T>(g), terms, out});
}
template <class T> typename Kernels<T>::Shares shares_of(Op op) {
  return op == Op::max ? &shares<T, Op::max> : &shares<T, Op::min>;
}

template <class T> bool has_nan(std::size_t n, const T* x) {
  const Tag<T> d;
  std::size_t i = 0;
  for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>) {
    const Lanes<T> a = load(x + i), b = load(x + i + lanes<T>), c = load(x + i + 2 * lanes<T>),
                   e = load(x + i + 3 * lanes<T>);
    if (!hn::AllFalse(d, hn::Or(hn::Or((a != a).m, (b != b).m), hn::Or((c != c).m, (e != e).m)))) return true;
  }
  for (; i + lanes<T> <= n; i += lanes<T>)
    if (const Lanes<T> a = load(x + i); !hn::AllFalse(d, (a != a).m)) return true;
  if (i == n) return false;
  const Lanes<T> a = load_some<T>(x + i, FirstLanes<T>(n - i));
  return !hn::AllFalse(d, (a != a).m);
}

// Loops of single loads: gathering instructions are no faster, and on some machines much slower.
template <class T> void gather(std::size_t n, const T* x, const std::uint32_t* at, T* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = x[at[i]];
}

template <class T> void add(std::size_t n, const T* x, T* out) {
  const In<T> in[] = {{out, 1}, {x, 1}};
  value<T, Op::add>(n, in, out);
}

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
