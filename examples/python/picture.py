"""Draws one buffer and its users, with their calls and the addresses that they report.

Run by `cargo xtask pictures`, which writes docs/pictures/one-buffer.svg.
"""

import argparse
import base64
import io
from pathlib import Path

import dlpack_example
import numpy as np
import torch
from demo import photograph
from PIL import Image

WIDTH, HEIGHT = 960, 326
STYLE = """
text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 14px; fill: #1f2328 }
.small { font-size: 12px; fill: #57606a }
.call { font-size: 13px; fill: #0550ae }
.who { font-weight: bold }
.box { fill: #ffffff; stroke: #8c959f; stroke-width: 1.2 }
.memory { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.6 }
.line { stroke: #0969da; stroke-width: 1.6; fill: none; marker-end: url(#tip) }
"""


def views(image) -> list[tuple[str, str, str, int]]:
    """The library, the call, its result, and the address that it reports."""
    array = np.from_dlpack(image)
    tensor = torch.from_dlpack(image)
    array_type = f"ndarray {array.shape} {array.dtype}"
    tensor_type = f"Tensor {tuple(tensor.shape)} {str(tensor.dtype)[6:]}"
    address = array.__array_interface__["data"][0]
    seen = [
        ("Rust", "image = Image.open(path)", "Image { data: Arc<[u8]>, .. }", image.data_ptr),
        ("NumPy", "np.from_dlpack(image)", array_type, address),
        ("PyTorch", "torch.from_dlpack(image)", tensor_type, tensor.data_ptr()),
    ]
    assert len({address for *_, address in seen}) == 1, "a library made a copy"
    return seen


def thumbnail(image) -> str:
    """The elements, as a picture of PNG in base64."""
    small = Image.fromarray(np.from_dlpack(image)).resize((128, 150))
    png = io.BytesIO()
    small.quantize(64).save(png, format="PNG", optimize=True)
    return base64.b64encode(png.getvalue()).decode()


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def svg(image) -> str:
    seen = views(image)
    bytes_in_all = int(np.prod(image.shape))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-label="One buffer in memory, used in place by Rust, and by NumPy and PyTorch through '
        'np.from_dlpack(image) and torch.from_dlpack(image)">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#0969da"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#f6f8fa"/>',
    ]
    for number, (who, call, what, address) in enumerate(seen):
        top = 30 + number * 95
        middle = top + 38
        parts += [
            f'<rect class="box" x="24" y="{top}" width="300" height="76" rx="6"/>',
            f'<text class="who" x="42" y="{top + 24}">{who}</text>',
            f'<text x="42" y="{top + 44}">{escaped(what)}</text>',
            f'<text class="small" x="42" y="{top + 63}">data: {address:#x}</text>',
            f'<text class="call" x="336" y="{middle - 8}">{escaped(call)}</text>',
            f'<path class="line" d="M324 {middle} H 540 C 590 {middle} 580 163 626 163"/>',
        ]
    parts += [
        '<rect class="memory" x="632" y="30" width="304" height="266" rx="6"/>',
        f'<text class="who" x="650" y="56">{seen[0][3]:#x}</text>',
        f'<text class="small" x="650" y="75">{bytes_in_all:,} bytes, allocated once</text>',
        f'<image x="650" y="88" width="128" height="150" href="data:image/png;base64,{thumbnail(image)}"/>',
        '<text class="small" x="792" y="106">one buffer,</text>',
        '<text class="small" x="792" y="124">no copy;</text>',
        '<text class="small" x="792" y="150">freed once,</text>',
        '<text class="small" x="792" y="168">by the last</text>',
        '<text class="small" x="792" y="186">owner</text>',
        '<text class="small" x="650" y="262">addresses as reported by Rust,</text>',
        '<text class="small" x="650" y="280">NumPy and PyTorch</text>',
        "</svg>\n",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.write_text(svg(dlpack_example.Image.open(photograph())))
    print(f"wrote {out}")
