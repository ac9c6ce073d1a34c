"""Calls of machine code by address, and views of raw memory, from inside numba kernels.

Addresses are always arguments: an address frozen into a cached kernel would be wrong in the next process.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


@intrinsic
def call(typingctx: Any, address: Any, args: Any) -> Any:
    """Call `int32_t f(void** args)` at `address`; both arguments are machine words."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> ir.Value:
        pointer = ir.IntType(8).as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [pointer])
        function = builder.inttoptr(values[0], function_type.as_pointer())
        return builder.call(function, [builder.inttoptr(values[1], pointer)])

    return types.int32(types.intp, types.intp), codegen


def _viewer(item: types.Type, description: str) -> Any:
    array_type = types.Array(item, 1, "C")

    @intrinsic
    def view(typingctx: Any, address: Any, size: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> ir.Value:
            array = context.make_array(array_type)(context, builder)
            width = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(item)))
            data = builder.inttoptr(values[0], array.data.type)
            populate_array(array, data=data, shape=[values[1]], strides=[width], itemsize=width, meminfo=None)
            return array._getvalue()

        return array_type(types.intp, types.intp), codegen

    view.__doc__ = description
    return view


doubles = _viewer(types.float64, "View `size` doubles at `address`: doubles(address, size).")
complexes = _viewer(types.complex128, "View `size` complex numbers at `address`: complexes(address, size).")
integers = _viewer(types.int64, "View `size` 64-bit integers at `address`: integers(address, size).")
integers32 = _viewer(types.int32, "View `size` 32-bit integers at `address`: integers32(address, size).")
words = _viewer(types.intp, "View `size` machine words (pointers) at `address`: words(address, size).")
