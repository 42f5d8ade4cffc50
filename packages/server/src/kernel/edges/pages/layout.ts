/** The frame of every page we write ourselves: one style sheet inside, nothing from anywhere else. */
import { createHash } from "node:crypto"

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, character => ESCAPES[character] ?? "")

/** Text whose only Markdown is code spans. */
export const inlineHtml = (markdown: string): string =>
  escapeHtml(markdown).replaceAll(/`([^`]+)`/g, "<code>$1</code>")

/** Colours of light and dark; the page of the API reference has them too. */
export const PALETTE = `:root{color-scheme:light dark;--ground:#fcfcfb;--raised:#f3f3f1;--text:#1b1d20;--soft:#5b6068;--line:#e1e2e4;--accent:#2452c9;--good:#1a7040;--warn:#95560a;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--ground:#131416;--raised:#1c1e21;--text:#e8e9eb;--soft:#9aa0a9;--line:#2d3035;--accent:#93b0ff;--good:#6fcf97;--warn:#e8b25e;--bad:#ff8a80}}`

export const BASE_STYLE = `${PALETTE}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-text-size-adjust:100%}
a{color:var(--accent);text-underline-offset:.2em}
a:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.bar{display:flex;gap:.25rem 1.25rem;align-items:center;flex-wrap:wrap;padding:.7rem max(1.25rem,calc(50% - 23rem));border-bottom:1px solid var(--line);font-size:.9375rem}
.bar a{color:var(--soft);text-decoration:none;padding:.2rem 0}
.bar a:hover,.bar a[aria-current]{color:var(--text)}
.bar .home{color:var(--text);font-weight:650;letter-spacing:-.01em;margin-right:auto;display:flex;gap:.5rem;align-items:center}
.bar .home svg{display:block}`

const STYLE = `${BASE_STYLE}
main{max-width:48.5rem;margin:0 auto;padding:2.25rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;letter-spacing:-.02em;margin:0 0 .75rem;overflow-wrap:anywhere}
h1.code{font:650 1.5rem/1.3 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:-.02em}
h2{font-size:1.0625rem;letter-spacing:-.01em;margin:2.25rem 0 .5rem}
p{margin:.5rem 0}
.soft{color:var(--soft)}
code,pre{font:.875em/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{background:var(--raised);border-radius:4px;padding:.1em .32em;overflow-wrap:anywhere}
pre{background:var(--raised);border:1px solid var(--line);border-radius:8px;padding:.875rem 1rem;overflow-x:auto;margin:.5rem 0}
pre code{background:none;padding:0;overflow-wrap:normal}
.status{display:inline-block;border:1px solid currentColor;border-radius:99px;padding:.05rem .7rem;font-size:.8125rem;font-weight:600;color:var(--bad)}
.status.waits{color:var(--good)}.status.ours{color:var(--warn)}
blockquote{margin:1.25rem 0 0;padding:.125rem 0 .125rem 1rem;border-left:3px solid var(--line);font-size:1.125rem}
hr{border:0;border-top:1px solid var(--line);margin:2.5rem 0}
.rows{list-style:none;margin:.25rem 0 0;padding:0;border-top:1px solid var(--line)}
.rows a{display:grid;grid-template-columns:minmax(0,17rem) minmax(0,1fr);gap:0 1.25rem;padding:.55rem 0;border-bottom:1px solid var(--line);color:inherit;text-decoration:none}
.rows a:hover b{color:var(--accent);text-decoration:underline}
.rows b{font-weight:600;overflow-wrap:anywhere}
.rows b.code{font:600 .875rem/1.7 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.rows span{color:var(--soft);overflow-wrap:anywhere}
.bad{color:var(--bad)}
form{display:grid;gap:.875rem;margin:1.25rem 0;max-width:32rem}
form label{display:grid;gap:.25rem;font-weight:600}
form label.tick{display:flex;gap:.6rem;align-items:baseline;font-weight:400;margin:.25rem 0}
input:not([type=checkbox]),select{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:8px;padding:.5rem .7rem}
fieldset{border:1px solid var(--line);border-radius:8px;padding:.5rem .9rem .75rem}
button{font:inherit;font-weight:600;color:#fff;background:#2452c9;border:0;border-radius:8px;padding:.6rem 1rem;cursor:pointer}
button.plain{color:inherit;background:none;border:1px solid var(--line)}
input:focus-visible,select:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:40rem){main{padding-top:1.5rem}.rows a{grid-template-columns:minmax(0,1fr)}}`

/** Pages of ours run no script and load nothing, whatever text reaches them. */
export const pagePolicy = (formAction: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
    "img-src data:",
    "base-uri 'none'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
  ].join("; ")

export const PAGE_POLICY = pagePolicy("'none'")

const MARK = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 20 20"><rect width="20" height="20" rx="5" fill="#2452c9"/><path d="M5 6.5h10M5 10h10M5 13.5h6" stroke="#fff" stroke-width="1.8" stroke-linecap="round"/></svg>`

const ICON = `data:image/svg+xml,${encodeURIComponent(MARK)}`

/** `none`: of no section. */
export type Section = "home" | "docs" | "errors" | "none"

/** `root` is the path below which this installation is reached; empty when it has a host of its own. */
export const head = (title: string): string =>
  `<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)}</title><link rel="icon" href="${ICON}">`

export const bar = (root: string, current: Section): string => {
  const link = (section: Section, path: string, text: string) =>
    `<a href="${root}${path}"${section === current ? ' aria-current="page"' : ""}>${text}</a>`
  return `<nav class="bar" aria-label="Pages"><a class="home" href="${root}/">${MARK}Svc</a><a href="${root}/console">Console</a>${link("docs", "/docs", "API reference")}${link("errors", "/docs/errors", "Errors")}</nav>`
}

export interface Page {
  readonly title: string
  readonly root: string
  readonly section: Section
  /** HTML. */
  readonly main: string
}

export const renderPage = ({ title, root, section, main }: Page): string =>
  `<!doctype html><html lang="en"><head>${head(title)}<style>${STYLE}</style></head><body>${bar(root, section)}<main>${main}</main></body></html>`
