"""The UUIDs of RFC 9562: versions 1, 3, 4, 5, 6 and 7, and the RFC's two examples of version 8."""

from keybench.generators.rfc9562 import name_based, time_based, v4, v7, v7_methods

LAYOUTS = (*v4.LAYOUTS, *v7.LAYOUTS, *name_based.LAYOUTS, *time_based.LAYOUTS, *v7_methods.LAYOUTS)
