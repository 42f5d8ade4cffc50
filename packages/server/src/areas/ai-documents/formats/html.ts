/** HTML without anything that runs or is loaded: every text is escaped, and links lead to web pages and mail alone. */
import {
  type Block,
  DEFAULT_ACCENT,
  DEFAULT_FONT_SIZE,
  type DocumentTree,
  type ListItem,
  type Run,
  type Style,
  type Table,
} from "../making/blocks.ts"

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? "")

const FONTS = {
  sans: "system-ui, 'Liberation Sans', Arial, sans-serif",
  serif: "'Liberation Serif', 'Times New Roman', serif",
  mono: "'Liberation Mono', 'Courier New', monospace",
} as const

const ofRun = ({ text, bold, italic, strike, code, href }: Run): string => {
  let html = escapeHtml(text).replaceAll("\n", "<br>")
  if (code) html = `<code>${html}</code>`
  if (strike) html = `<del>${html}</del>`
  if (italic) html = `<em>${html}</em>`
  if (bold) html = `<strong>${html}</strong>`
  return href === undefined
    ? html
    : `<a href="${escapeHtml(href)}" rel="noopener noreferrer nofollow">${html}</a>`
}

const ofRuns = (runs: readonly Run[]): string => runs.map(ofRun).join("")

const ofItem = ({ checked, blocks }: ListItem): string => {
  const box = checked === undefined ? "" : checked ? "☑ " : "☐ "
  const [first, ...rest] = blocks
  // A single paragraph of an item stands on the item's own line.
  const begin = first?.type === "paragraph" ? ofRuns(first.runs) : first ? ofBlock(first) : ""
  return `<li>${box}${begin}${rest.length > 0 ? `\n${ofBlocks(rest)}\n` : ""}</li>`
}

const ofTable = ({ aligns, header, rows }: Table): string => {
  const row = (cells: readonly (readonly Run[])[], tag: "th" | "td") => {
    const inner = cells.map((cell, column) => {
      const align = aligns[column] ?? "left"
      return `<${tag}${align === "left" ? "" : ` class="${align}"`}>${ofRuns(cell)}</${tag}>`
    })
    return `<tr>${inner.join("")}</tr>`
  }
  const body = rows.map(cells => row(cells, "td")).join("\n")
  return `<table>\n<thead>\n${row(header, "th")}\n</thead>\n<tbody>\n${body}\n</tbody>\n</table>`
}

const ofBlock = (block: Block): string => {
  switch (block.type) {
    case "heading":
      return `<h${block.level}>${ofRuns(block.runs)}</h${block.level}>`
    case "paragraph":
      return `<p>${ofRuns(block.runs)}</p>`
    case "code":
      return `<pre><code>${escapeHtml(block.text)}</code></pre>`
    case "quote":
      return `<blockquote>\n${ofBlocks(block.blocks)}\n</blockquote>`
    case "rule":
      return "<hr>"
    case "table":
      return ofTable(block)
    case "list": {
      const items = block.items.map(ofItem).join("\n")
      if (block.start === null) return `<ul>\n${items}\n</ul>`
      return `<ol${block.start === 1 ? "" : ` start="${block.start}"`}>\n${items}\n</ol>`
    }
  }
}

const ofBlocks = (blocks: readonly Block[]): string => blocks.map(ofBlock).join("\n")

const sheet = ({ font = "sans", font_size = DEFAULT_FONT_SIZE, accent = DEFAULT_ACCENT, ...page }: Style) =>
  `@page { size: ${page.page_size ?? "A4"} ${page.orientation ?? "portrait"}; margin: 2cm }
body { font: ${font_size}pt/1.45 ${FONTS[font]}; max-width: 46em; margin: 2em auto; padding: 0 1em; color: #1a1a1a }
h1, h2, h3, h4, h5, h6 { color: ${accent}; line-height: 1.2 }
table { border-collapse: collapse }
th, td { border: 1px solid #bbb; padding: .3em .6em; text-align: left; vertical-align: top }
.right { text-align: right }
.center { text-align: center }
pre { background: #f4f4f4; padding: .8em; overflow-x: auto }
blockquote { border-left: 3px solid #bbb; margin-left: 0; padding-left: 1em; color: #444 }`

export const toHtml = ({ title, style, blocks }: DocumentTree): string => `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
${sheet(style)}
</style>
</head>
<body>
${ofBlocks(blocks)}
</body>
</html>
`
