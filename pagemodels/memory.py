"""What numba lacks for kernels: `memmove`; `prefetch`; `select`, a partition in place (`np.partition` copies)."""

from collections.abc import Callable
from typing import Any, cast

from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from keybench.compiled import kernel

# numba calls each function below with the types of the arguments. It returns its signature and a function `generate`,
# which writes the LLVM code for the arguments' `values`.


def _move(_context: Any, array: Any, to: Any, begin: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, values[0])
        to_value, begin_value, count_value = (
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(values[1:], signature.args[1:], strict=True)
        )
        item_bytes = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        target, source = builder.gep(struct.data, [to_value]), builder.gep(struct.data, [begin_value])
        memmove: Any = cgutils.raw_memmove
        memmove(builder, target, source, count_value, item_bytes)
        return context.get_dummy_value()

    return types.none(array, to, begin, count), generate


move = cast("Callable[[NDArray[Any], int, int, int], None]", intrinsic(_move))
"""`move(array, to, begin, count)` copies array[begin : begin + count] to array[to : to + count]; they may overlap. The
array has one dimension and no gaps."""


def _prefetch(_context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        struct = context.make_array(array)(context, builder, values[0])
        at = context.cast(builder, values[1], signature.args[1], types.intp)
        if array.ndim == 2:  # `place` is a row: times the length of a row
            at = builder.mul(at, builder.extract_value(struct.shape, 1))
        tools: Any = cgutils
        number, address = tools.int32_t, tools.voidptr_t
        kind = tools.ir.FunctionType(tools.ir.VoidType(), [address, number, number, number])
        function = tools.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        element = builder.bitcast(builder.gep(struct.data, [at]), address)
        builder.call(function, [element, number(_TO_WRITE), number(_ALL_CACHES), number(_DATA)])
        return context.get_dummy_value()

    return types.none(array, place), generate


_TO_WRITE, _ALL_CACHES, _DATA = 1, 3, 1  # the last three arguments of LLVM's prefetch
prefetch = cast("Callable[[NDArray[Any], int], None]", intrinsic(_prefetch))
"""`prefetch(array, place)` asks for array[place], which will be changed, in the processor's cache, and does not wait;
the place may even lie outside of the array. Processors write in order, so that each write to a place that is not in the
cache holds up those behind it."""


_SMALL = 12  # up to this many items are sorted by insertion


@kernel
def select(items: NDArray[Any], n: int, k: int) -> None:
    """Moves the k lowest of the first n distinct items to the front; items[k] is then the lowest of the others."""
    low, high = 0, n
    # Quickselect: divides items[low:high], in which the k-th one is, until few are left.
    while high - low > _SMALL:
        a, b, c = items[low], items[(low + high) >> 1], items[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))  # the middle one of three: so both parts get items
        border = low
        for i in range(low, high):  # without a branch on the comparison, which the processor could not predict
            item = items[i]
            items[i] = items[border]
            items[border] = item
            border += item < pivot  # else the next item takes its place
        if k < border:
            high = border
        else:
            low = border
    for i in range(low + 1, high):
        item = items[i]
        j = i
        while j > low and items[j - 1] > item:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item


@kernel
def sort(items: NDArray[Any], n: int) -> None:
    """Sorts the first n items in place by D. Shell's method: numba's own sort takes a second to compile."""
    gap = max(1, n * 4 // 9)
    while gap > 0:
        for i in range(gap, n):
            item = items[i]
            j = i
            while j >= gap and items[j - gap] > item:
                items[j] = items[j - gap]
                j -= gap
            items[j] = item
        gap = 1 if gap == 2 else gap * 4 // 9  # a gap of 2 is followed by 1, and 1 by 0
