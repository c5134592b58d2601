"""``python -m dlpack_conformance``."""

from .command import main

raise SystemExit(main())
