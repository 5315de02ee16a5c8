"""Draw the report's charts as SVG, without a plotting library."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

MNEMON_COLOUR = "#2563eb"
_COLOURS = (MNEMON_COLOUR, "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2", "#a16207", "#be185d", "#475569")
_GREY = "#94a3b8"
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 470, 50, 270


def bar_chart(values: Mapping[str, float], title: str) -> str:
    """Return an SVG bar chart of shares from 0 to 1, the largest first."""
    body = []
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda pair: -pair[1])):
        top, colour = 44 + 28 * place, MNEMON_COLOUR if name.startswith("Mnemon hybrid") else _GREY
        body.append(f'<text x="250" y="{top + 14}" text-anchor="end">{escape(name)}</text>')
        body.append(f'<rect x="260" y="{top}" width="{340 * value:.1f}" height="18" rx="2" fill="{colour}"/>')
        body.append(f'<text x="{266 + 340 * value:.1f}" y="{top + 14}">{value:.3f}</text>')
    return _wrap_svg(680, 60 + 28 * len(values), title, body)


def line_chart(lines: Mapping[str, Mapping[int, float]], title: str) -> str:
    """Return an SVG line chart of milliseconds by size, with both axes logarithmic."""
    sizes = sorted({size for line in lines.values() for size in line})
    values = [value for line in lines.values() for value in line.values()]
    low, high = floor(log10(min(values))), max(ceil(log10(max(values))), floor(log10(min(values))) + 1)
    left, wide = log10(sizes[0]), max(log10(sizes[-1]) - log10(sizes[0]), 1.0)

    def point_at(size: float, value: float) -> tuple[float, float]:
        x = _LEFT + (_RIGHT - _LEFT) * (log10(size) - left) / wide
        return x, _BOTTOM - (_BOTTOM - _TOP) * (log10(value) - low) / (high - low)

    body = [f'<text x="{point_at(size, 1)[0]:.0f}" y="294" text-anchor="middle">{size:,}</text>' for size in sizes]
    for power in range(low, high + 1):
        y = point_at(sizes[0], 10.0**power)[1]
        body.append(f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.0f}" y2="{y:.0f}" stroke="#e2e8f0"/>')
        body.append(f'<text x="62" y="{y + 4:.0f}" text-anchor="end">{_format_ms(10.0**power)}</text>')
    ends = {}
    for place, (name, line) in enumerate(lines.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        points = [point_at(size, value) for size, value in sorted(line.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        ends[name] = (*points[-1], colour)
    return _wrap_svg(760, 310, title, body + _line_labels(ends))


def _line_labels(ends: Mapping[str, tuple[float, float, str]]) -> list[str]:
    """Return each line's name beside its end, moved down where two names would overlap."""
    body, free = [], float(_TOP)
    for name, (x, y, colour) in sorted(ends.items(), key=lambda pair: pair[1][1]):
        beside = max(y, free)
        free = beside + 17
        body.append(
            f'<path d="M{x + 4:.1f},{y:.1f} L{_RIGHT + 22},{beside:.1f}" stroke="{colour}" stroke-width="0.7"/>'
        )
        body.append(f'<text x="{_RIGHT + 26}" y="{beside + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return body


def _format_ms(ms: float) -> str:
    return f"{ms:g} ms" if ms < 1000 else f"{ms / 1000:,.0f} s"


def _wrap_svg(width: int, height: int, title: str, body: Sequence[str]) -> str:
    style = "font-family:system-ui,sans-serif;font-size:13px"
    name = escape(title)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" style="{style}">'
    paper = f'<title>{name}</title><rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head, paper, f'<text x="16" y="24" font-weight="600">{name}</text>', *body, "</svg>"]) + "\n"
