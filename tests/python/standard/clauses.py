"""Every check of the suite names the clause that it checks."""

ARRAY_API = "array API 2025.12"
DLPACK = "DLPack 1.3"

NAMED = {}


def clause(document, place, words):
    """Marks a check with the place in a document that it is written from."""

    def mark(check):
        NAMED[check.__name__] = (document, place, words)
        check.__doc__ = f"{document}, {place}: {words}."
        return check

    return mark
