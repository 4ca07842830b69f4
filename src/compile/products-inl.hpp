// SPDX-License-Identifier: MIT
// Matrix products. What counts is that a number loaded is used many times while it is in a register: a tile of sums
// stays there, rows x vectors of them, and grows by one row of X at a time.
//
// Included once for each instruction set. Every sum of a product is one chain over t, whatever tile it is in. So the
// bits do not depend on how a product is cut, and a sum may rest in Y between two stretches of t.
#if defined(GRADWALK_COMPILE_PRODUCTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADWALK_COMPILE_PRODUCTS_INL_HPP
#undef GRADWALK_COMPILE_PRODUCTS_INL_HPP
#else
#define GRADWALK_COMPILE_PRODUCTS_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compile/kernels.hpp"
#include "compile/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gradwalk::detail::HWY_NAMESPACE {

// The largest tile whose sums, one row of X and one number of A fit the registers: 32, or 16.
inline constexpr std::size_t tile_rows = HWY_TARGET <= HWY_AVX3 ? 5 : 4;
inline constexpr std::size_t tile_vectors = HWY_TARGET <= HWY_AVX3 ? 5 : HWY_TARGET <= HWY_AVX2 ? 3 : 2;
// Few rows make low tiles, which must be wide to keep the adders busy.
inline constexpr std::size_t low_rows = 2;
inline constexpr std::size_t low_vectors = HWY_TARGET <= HWY_AVX3 ? 7 : tile_vectors;
// Rows of X done at a stretch: with a tile's columns they should stay in the first-level cache.
inline constexpr std::size_t stretch = 128;

// `total` in pieces as equal as can be, none above `most`; at least one, which may be empty.
struct Pieces {
  std::size_t count, each, longer;  // the first `longer` are one longer than `each`

  Pieces(std::size_t total, std::size_t most)
      : count(std::max<std::size_t>((total + most - 1) / most, 1)), each(total / count), longer(total % count) {}
  std::size_t begin(std::size_t piece) const { return piece * each + std::min(piece, longer); }
  std::size_t size(std::size_t piece) const { return each + (piece < longer ? 1 : 0); }
};

// g++ keeps an array in registers if its indices are constants from the start; so loops over a tile are folds.
template <std::size_t n> using Indices = std::make_index_sequence<n>;

// And it would rather load a vector again for each of three rows than keep it.
template <class V> HWY_INLINE V in_register(V v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// whole: all its columns are in Y. skip: a term whose X is 0 counts as 0. Holds copies, since stores to Y could
// otherwise change what p says.
template <class T, std::size_t rows, std::size_t vectors, bool whole, bool skip> struct Tile {
  static constexpr Tag<T> d{};
  std::size_t a_row, y_row;
  FirstLanes<T> part;  // of the last columns
  Vector<T> sum[rows * vectors];

  HWY_INLINE Vector<T> load(const T* from) const {
    if constexpr (whole)
      return hn::LoadU(d, from);
    else
      return load_or_zero<T>(from, part);
  }
  HWY_INLINE void store(Vector<T> x, T* to) const {
    if constexpr (whole)
      hn::StoreU(x, d, to);
    else
      store_some<T>(x, to, part);
  }
  template <std::size_t at> HWY_INLINE std::size_t place() const {
    return at / vectors * y_row + at % vectors * lanes<T>;
  }

  template <std::size_t... at> HWY_INLINE void begin(std::index_sequence<at...>) { ((sum[at] = hn::Zero(d)), ...); }
  template <std::size_t... at> HWY_INLINE void begin(std::index_sequence<at...>, const T* y) {
    ((sum[at] = load(y + place<at>())), ...);
  }
  template <std::size_t... at> HWY_INLINE void begin(std::index_sequence<at...>, const T* bias, std::size_t step) {
    ((sum[at] = hn::Set(d, bias[at / vectors * step])), ...);
  }

  static HWY_INLINE Vector<T> plus(Vector<T> total, Vector<T> a, Vector<T> x) {
    const Vector<T> next = hn::MulAdd(a, x, total);
    if constexpr (skip)
      return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), total, next);
    else
      return next;
  }
  template <std::size_t row, std::size_t... v>
  HWY_INLINE void add_row(std::index_sequence<v...>, const T* a, const Vector<T>* x) {
    const Vector<T> factor = hn::Set(d, a[row * a_row]);
    ((sum[row * vectors + v] = plus(sum[row * vectors + v], factor, x[v])), ...);
  }
  template <std::size_t... row, std::size_t... v>
  HWY_INLINE void add(std::index_sequence<row...>, std::index_sequence<v...> all, const T* a, const T* from) {
    const Vector<T> x[] = {rows == 1 ? load(from + v * lanes<T>) : in_register(load(from + v * lanes<T>))...};
    (add_row<row>(all, a, x), ...);
  }

  template <std::size_t... at> HWY_INLINE void relu(std::index_sequence<at...>) {
    ((sum[at] = LaneRule<Op::relu>::template value<Lanes<T>>(sum[at], sum[at], sum[at]).v), ...);
  }
  template <std::size_t... at> HWY_INLINE void end(std::index_sequence<at...>, T* y) const {
    (store(sum[at], y + place<at>()), ...);
  }
};

// Adds rows [from, to) of X to rows [i, end) of Y, tile by tile, each beginning at column j.
template <class T, std::size_t rows, std::size_t vectors, bool whole, bool skip>
HWY_NOINLINE void do_tiles(const MatrixProduct<T>& p, std::size_t i, std::size_t end, std::size_t j, std::size_t from,
                           std::size_t to) {
  constexpr Indices<rows * vectors> all;
  const MatrixProduct<T>& q = p;
  const bool last = to == q.depth;
  Tile<T, rows, vectors, whole, skip> tile{q.a_row, q.y_row, FirstLanes<T>(q.columns - j), {}};
  for (; i < end; i += rows) {
    const std::size_t place = i * q.y_row + j;
    if (q.add || from > 0)
      tile.begin(all, q.y + place);
    else if (q.bias != nullptr)
      tile.begin(all, q.bias + i * q.bias_step, q.bias_step);
    else
      tile.begin(all);
    const T* a = q.a + i * q.a_row + from * q.a_column;
    if (q.x_rows == nullptr) {
      const T* x = q.x + j + from * q.x_row;
      for (std::size_t t = from; t < to; ++t, a += q.a_column, x += q.x_row)
        tile.add(Indices<rows>(), Indices<vectors>(), a, x);
    } else {
      for (std::size_t t = from; t < to; ++t, a += q.a_column)
        tile.add(Indices<rows>(), Indices<vectors>(), a, q.x + j + q.x_rows[t] * q.x_row);
    }
    if (last && q.relu) tile.relu(all);
    tile.end(all, q.y + place);
  }
}

template <class T, std::size_t rows, std::size_t vectors, bool whole, bool skip, std::size_t... at>
void do_tiles_of(std::index_sequence<at...>, std::size_t height, std::size_t width, const MatrixProduct<T>& p,
                 std::size_t i, std::size_t end, std::size_t j, std::size_t from, std::size_t to) {
  static constexpr decltype(&do_tiles<T, rows, vectors, whole, skip>) all[] = {
      &do_tiles<T, at % rows + 1, at / rows + 1, whole, skip>...};
  if (i < end) all[(width - 1) * rows + height - 1](p, i, end, j, from, to);
}

// Columns from j on, `width` vectors of them.
template <class T, std::size_t rows, std::size_t vectors, bool whole, bool skip>
void do_columns(const MatrixProduct<T>& p, const Pieces& heights, std::size_t width, std::size_t j, std::size_t from,
                std::size_t to) {
  constexpr Indices<rows * vectors> all;
  const std::size_t cut = heights.begin(heights.longer);
  do_tiles_of<T, rows, vectors, whole, skip>(all, heights.each + 1, width, p, 0, cut, j, from, to);
  do_tiles_of<T, rows, vectors, whole, skip>(all, heights.each, width, p, cut, p.rows, j, from, to);
}

// Cuts Y into tiles of at most rows x vectors, and X's rows into stretches.
template <class T, std::size_t rows, std::size_t vectors, bool skip> void do_product(const MatrixProduct<T>& p) {
  const std::size_t whole = p.columns / lanes<T>;
  const Pieces heights(p.rows, rows), widths(whole, vectors), stretches(p.depth, stretch);
  for (std::size_t k = 0; k < stretches.count; ++k) {
    const std::size_t from = stretches.begin(k), to = stretches.begin(k + 1);
    for (std::size_t w = 0; w < widths.count && whole > 0; ++w)
      do_columns<T, rows, vectors, true, skip>(p, heights, widths.size(w), widths.begin(w) * lanes<T>, from, to);
    if (whole * lanes<T> < p.columns) do_columns<T, rows, 1, false, skip>(p, heights, 1, whole * lanes<T>, from, to);
  }
}

template <class T> void product(const MatrixProduct<T>& p) {
  if (p.skip_zeros)
    do_product<T, 1, 1, true>(p);
  else if (p.rows <= low_rows)
    do_product<T, low_rows, low_vectors, false>(p);
  else
    do_product<T, tile_rows, tile_vectors, false>(p);
}

// Numbers in 16 bytes: the part of a vector within which numbers are cheap to move.
template <class T> inline constexpr std::size_t block = std::min<std::size_t>(lanes<T>, 16 / sizeof(T));

// x[r][k * block + c] = row[k * block + r][at + c]: each block holds `block` numbers of another row.
template <class D, class T> HWY_INLINE hn::Vec<D> load_blocks(D d, const T* const* row, std::size_t at) {
  if constexpr (hn::MaxLanes(d) <= block<T>) {
    return hn::LoadU(d, row[0] + at);
  } else {
    const hn::Half<D> half;
    return Combine(d, load_blocks(half, row + hn::MaxLanes(half), at), load_blocks(half, row, at));
  }
}

// out[j * out_row + lane] = row[lane][j] for j < columns; writes n lanes only.
template <class T>
HWY_NOINLINE void transpose_rows(const T* const* row, std::size_t n, std::size_t columns, T* out, std::size_t out_row) {
  const Tag<T> d;
  const FirstLanes<T> part(n);
  const auto put = [part](Vector<T> x, T* to) HWY_ATTR {
    if (part.n == lanes<T>)
      hn::StoreU(x, Tag<T>(), to);
    else
      store_some<T>(x, to, part);
  };
  std::size_t j = 0;
  if constexpr (block<T> == 4) {
    const hn::RepartitionToWide<Tag<T>> pairs;
    for (; j + 4 <= columns; j += 4, out += 4 * out_row) {
      const Vector<T> a = load_blocks(d, row, j), b = load_blocks(d, row + 1, j), c = load_blocks(d, row + 2, j),
                      e = load_blocks(d, row + 3, j);
      const auto ab = hn::BitCast(pairs, InterleaveLower(d, a, b)), ab2 = hn::BitCast(pairs, InterleaveUpper(d, a, b));
      const auto ce = hn::BitCast(pairs, InterleaveLower(d, c, e)), ce2 = hn::BitCast(pairs, InterleaveUpper(d, c, e));
      put(hn::BitCast(d, InterleaveLower(pairs, ab, ce)), out);
      put(hn::BitCast(d, InterleaveUpper(pairs, ab, ce)), out + out_row);
      put(hn::BitCast(d, InterleaveLower(pairs, ab2, ce2)), out + 2 * out_row);
      put(hn::BitCast(d, InterleaveUpper(pairs, ab2, ce2)), out + 3 * out_row);
    }
  } else if constexpr (block<T> == 2) {
    for (; j + 2 <= columns; j += 2, out += 2 * out_row) {
      const Vector<T> a = load_blocks(d, row, j), b = load_blocks(d, row + 1, j);
      put(InterleaveLower(d, a, b), out);
      put(InterleaveUpper(d, a, b), out + out_row);
    }
  }
  for (; j < columns; ++j, out += out_row)
    for (std::size_t lane = 0; lane < n; ++lane) out[lane] = row[lane][j];
}

template <class T>
void transpose(std::size_t rows, std::size_t columns, const T* x, std::size_t x_row, T* out, std::size_t out_row) {
  const T* row[lanes<T>];
  for (std::size_t i = 0; i < rows; i += lanes<T>) {
    const std::size_t n = std::min(lanes<T>, rows - i);
    for (std::size_t lane = 0; lane < lanes<T>; ++lane) row[lane] = x + (i + std::min(lane, n - 1)) * x_row;
    transpose_rows(row, n, columns, out + i, out_row);
  }
}

template <class T> HWY_INLINE const T* row_of(const OuterProduct<T>& p, std::size_t part, std::size_t t) {
  return p.x + (p.x_rows == nullptr ? t : p.x_rows[part * p.depth + t]) * p.x_row;
}

// The sum of each block's place over all blocks, halving until one is left.
template <class D> HWY_INLINE auto sum_of_blocks(D d, hn::Vec<D> x) {
  if constexpr (hn::MaxLanes(d) <= block<hn::TFromD<D>>) {
    return x;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks(half, hn::Add(LowerHalf(half, x), UpperHalf(half, x)));
  }
}

// The sums of each vector's lanes, for as many vectors as a block has numbers.
template <class T> HWY_INLINE auto sums_of_lanes(const Vector<T>* x) {
  const Tag<T> d;
  if constexpr (block<T> == 4) {
    const hn::RepartitionToWide<Tag<T>> pairs;
    const auto ab = hn::BitCast(pairs, hn::Add(InterleaveLower(d, x[0], x[1]), InterleaveUpper(d, x[0], x[1])));
    const auto ce = hn::BitCast(pairs, hn::Add(InterleaveLower(d, x[2], x[3]), InterleaveUpper(d, x[2], x[3])));
    return sum_of_blocks(
        d, hn::Add(hn::BitCast(d, InterleaveLower(pairs, ab, ce)), hn::BitCast(d, InterleaveUpper(pairs, ab, ce))));
  } else if constexpr (block<T> == 2) {
    return sum_of_blocks(d, hn::Add(InterleaveLower(d, x[0], x[1]), InterleaveUpper(d, x[0], x[1])));
  } else {
    return x[0];
  }
}

template <class T> struct LoadWhole {
  HWY_INLINE Vector<T> get(const T* from) const { return hn::LoadU(Tag<T>(), from); }
};
template <class T> struct LoadRest {
  FirstLanes<T> part;
  HWY_INLINE Vector<T> get(const T* from) const { return load_or_zero<T>(from, part); }
};

// Rows x steps of G as dot products: lanes run over j, and each vector's are added up in the end.
template <class T, std::size_t rows, std::size_t steps, bool skip> struct Dots {
  static constexpr Tag<T> d{};
  static constexpr std::size_t padded = (steps + block<T> - 1) / block<T> * block<T>;  // with sums that stay 0
  const T *left[rows], *right[steps];
  Vector<T> sum[rows * padded];

  template <std::size_t... at> HWY_INLINE explicit Dots(std::index_sequence<at...>) : sum{(void(at), hn::Zero(d))...} {}

  template <std::size_t... row, std::size_t... step>
  HWY_INLINE void begin(const OuterProduct<T>& p, std::size_t part, std::size_t i, std::size_t t,
                        std::index_sequence<row...>, std::index_sequence<step...>) {
    ((left[row] = p.d + part * p.d_part + (i + row) * p.d_row), ...);
    ((right[step] = row_of(p, part, t + step)), ...);
  }

  static HWY_INLINE Vector<T> plus(Vector<T> total, Vector<T> a, Vector<T> x) {
    const Vector<T> next = hn::MulAdd(a, x, total);
    if constexpr (skip)
      return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), total, next);
    else
      return next;
  }
  template <std::size_t row, std::size_t... step>
  HWY_INLINE void add_row(std::index_sequence<step...>, Vector<T> a, const Vector<T>* x) {
    ((sum[row * padded + step] = plus(sum[row * padded + step], a, x[step])), ...);
  }
  template <class Load, std::size_t... row, std::size_t... step>
  HWY_INLINE void add(std::index_sequence<row...>, std::index_sequence<step...> all, std::size_t j, Load load) {
    const Vector<T> x[] = {load.get(right[step] + j)...};
    (add_row<row>(all, load.get(left[row] + j), x), ...);
  }

  // The sums from `at` on, a block of them.
  template <std::size_t at> HWY_INLINE void put(T* g, std::size_t g_row, std::size_t g_column, bool add) const {
    constexpr std::size_t row = at / padded, step = at % padded;
    const hn::CappedTag<T, block<T>> one;
    const auto sums = sums_of_lanes<T>(sum + at);
    T* to = g + row * g_row + step * g_column;
    if (g_column == 1 && step + block<T> <= steps) {
      hn::StoreU(add ? hn::Add(hn::LoadU(one, to), sums) : sums, one, to);
    } else {
      HWY_ALIGN T each[block<T>];
      hn::Store(sums, one, each);
      for (std::size_t k = 0; k < block<T> && step + k < steps; ++k, to += g_column)
        *to = add ? *to + each[k] : each[k];
    }
  }
  template <std::size_t... number>
  HWY_INLINE void end(std::index_sequence<number...>, T* g, std::size_t g_row, std::size_t g_column, bool add) const {
    (put<number * block<T>>(g, g_row, g_column, add), ...);
  }
};

template <class T, std::size_t rows, std::size_t steps, bool skip>
HWY_NOINLINE void do_dots(const OuterProduct<T>& p, std::size_t i, std::size_t t) {
  constexpr std::size_t sums = rows * Dots<T, rows, steps, skip>::padded;
  Dots<T, rows, steps, skip> dots{Indices<sums>()};
  for (std::size_t part = 0; part < p.parts; ++part) {
    dots.begin(p, part, i, t, Indices<rows>(), Indices<steps>());
    std::size_t j = 0;
    for (; j + lanes<T> <= p.columns; j += lanes<T>) dots.add(Indices<rows>(), Indices<steps>(), j, LoadWhole<T>());
    if (j < p.columns) dots.add(Indices<rows>(), Indices<steps>(), j, LoadRest<T>{FirstLanes<T>(p.columns - j)});
  }
  dots.end(Indices<sums / block<T>>(), p.g + i * p.g_row + t * p.g_column, p.g_row, p.g_column, p.add);
}

template <class T> void outer_by_dots(const OuterProduct<T>& p) {
  constexpr std::size_t rows = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // with four steps, what fits the registers
  std::size_t i = 0;
  for (; i + rows <= p.rows; i += rows) {
    std::size_t t = 0;
    for (; t + 4 <= p.depth; t += 4) do_dots<T, rows, 4, false>(p, i, t);
    for (; t + 2 <= p.depth; t += 2) do_dots<T, rows, 2, false>(p, i, t);
    if (t < p.depth) do_dots<T, rows, 1, false>(p, i, t);
  }
  for (; i < p.rows; ++i) {
    std::size_t t = 0;
    for (; t + 8 <= p.depth; t += 8) do_dots<T, 1, 8, false>(p, i, t);
    for (; t + 2 <= p.depth; t += 2) do_dots<T, 1, 2, false>(p, i, t);
    if (t < p.depth) do_dots<T, 1, 1, false>(p, i, t);
  }
}

// X is turned round piece by piece, so that lanes run over t: then this is a product, with D as its A.
template <class T> void outer_by_products(const OuterProduct<T>& p) {
  constexpr std::size_t width = tile_vectors * lanes<T>;
  HWY_ALIGN T turned[stretch * width], square[width * width];
  const Pieces stretches(p.columns, stretch);
  for (std::size_t t = 0; t < p.depth; t += width) {
    const std::size_t steps = std::min(width, p.depth - t);
    for (std::size_t k = 0; k < stretches.count; ++k) {
      const std::size_t from = stretches.begin(k), columns = stretches.size(k);
      const T* row[width];
      for (std::size_t step = 0; step < width; ++step) row[step] = row_of(p, 0, t + std::min(step, steps - 1)) + from;
      for (std::size_t step = 0; step < steps; step += lanes<T>)
        transpose_rows(row + step, lanes<T>, columns, turned + step, width);
      MatrixProduct<T> part{.rows = p.rows, .depth = columns, .columns = steps, .a = p.d + from, .a_row = p.d_row};
      part.x = turned;
      part.x_row = width;
      part.y = p.g + t;
      part.y_row = p.g_row;
      part.add = p.add || k > 0;
      if (p.g_column == 1) {
        product(part);
        continue;
      }
      part.y = square;
      part.y_row = width;
      for (std::size_t i = 0; i < p.rows; i += width) {
        part.rows = std::min(width, p.rows - i);
        T* g = p.g + i * p.g_row + t * p.g_column;
        if (part.add)
          for (std::size_t at = 0; at < part.rows * steps; ++at)
            square[at / steps * width + at % steps] = g[at / steps * p.g_row + at % steps * p.g_column];
        product(part);
        for (std::size_t at = 0; at < part.rows * steps; ++at)
          g[at / steps * p.g_row + at % steps * p.g_column] = square[at / steps * width + at % steps];
        part.a += width * p.d_row;
      }
    }
  }
}

// Which way may depend on depth and columns only, so that rows can be shared out without changing a bit.
template <class T> void outer(const OuterProduct<T>& p) {
  if (p.skip_zeros) {
    for (std::size_t i = 0; i < p.rows; ++i)
      for (std::size_t t = 0; t < p.depth; ++t) do_dots<T, 1, 1, true>(p, i, t);
  } else if (p.depth <= 32) {
    outer_by_dots(p);
  } else if (p.parts > 1) {
    OuterProduct<T> one = p;
    one.parts = 1;
    for (std::size_t part = 0; part < p.parts; ++part, one.d += p.d_part, one.x_rows += p.depth, one.add = true)
      outer_by_products(one);
  } else if (p.g_row == 1 && p.x_rows == nullptr) {
    OuterProduct<T> turned{.rows = p.depth, .depth = p.rows, .columns = p.columns, .d = p.x, .d_row = p.x_row};
    turned.x = p.d;
    turned.x_row = p.d_row;
    turned.g = p.g;
    turned.g_row = p.g_column;
    turned.add = p.add;
    outer_by_products(turned);
  } else {
    outer_by_products(p);
  }
}

}  // namespace gradwalk::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
