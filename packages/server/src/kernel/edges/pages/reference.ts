/**
 * The API reference: Swagger UI, as `@fastify/swagger-ui` ships it, from our own disk. Of the viewers looked at it
 * alone has no install script, no telemetry, no fonts from elsewhere and few dependencies.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { createKeptDocument, type KeptDocument } from "./documents.ts"
import { BASE_STYLE, bar, head } from "./layout.ts"

const IMMUTABLE = "public, max-age=31536000, immutable"

const libraryFile = (name: string): string =>
  fileURLToPath(import.meta.resolve(`@fastify/swagger-ui/${name}`))

/** The viewer sets styles on elements and has its pictures inside; everything else comes from this host or not at all. */
export const REFERENCE_POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** Requests go to the address that the page came from: only that one is allowed, and the one sure to be reachable. */
const START_SCRIPT = `"use strict"
const { openapi, root } = document.currentScript.dataset
const dark = matchMedia("(prefers-color-scheme: dark)")
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches)
dark.addEventListener("change", follow)
follow()
fetch(openapi)
  .then(response => response.json())
  .then(spec => {
    spec.servers = [{ url: location.origin + root }]
    SwaggerUIBundle({
      spec,
      dom_id: "#reference",
      deepLinking: true,
      docExpansion: "none",
      filter: true,
      defaultModelsExpandDepth: -1,
      displayRequestDuration: true,
      requestSnippetsEnabled: true,
      persistAuthorization: false,
      validatorUrl: null,
    })
  })
  .catch(error => {
    document.getElementById("reference").textContent = "The description of the API could not be loaded: " + error.message
  })
`

/** The viewer in our type and colours, narrow enough to read, and without the columns that we have nothing for. */
const STYLE = `${BASE_STYLE}
.bar{padding-inline:max(1.25rem,calc(50% - 35rem))}
#reference{min-height:60vh;padding-bottom:3rem}
html.dark-mode,html.dark-mode :is(body,.swagger-ui){background:var(--ground)}
.swagger-ui{font:.9375rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.swagger-ui .wrapper{max-width:72.5rem;padding-inline:1.25rem}
.swagger-ui :is(.info .title,.info p,.opblock-tag,.opblock-summary-description,.btn,label,select,input,table thead tr td,table thead tr th,.opblock-section-header h4,.response-col_status,.tab li,.parameter__name){font-family:inherit}
.swagger-ui .info{margin:2rem 0 1rem}
.swagger-ui .info .title{font-size:1.75rem;letter-spacing:-.02em;color:var(--text)}
.swagger-ui .info hgroup.main{margin-bottom:.75rem}
.swagger-ui :is(.info p,.markdown p,.renderedMarkdown p){font-size:inherit;color:inherit;margin:.5rem 0}
#reference :is(.info,.markdown,.renderedMarkdown) code{color:var(--text)!important;background:var(--raised)!important;font-weight:400;border-radius:4px;padding:.1em .32em}
#reference .scheme-container{box-shadow:none;background:none;padding:0 0 1rem;margin:0}
#reference :is(.servers-title,.servers,.response-col_links){display:none}
.swagger-ui .filter .operation-filter-input{width:100%;max-width:none;margin:0 0 1rem;border:1px solid var(--line);border-radius:8px;background:var(--ground);color:var(--text)}
.swagger-ui .opblock-tag{font-size:1.0625rem;padding:.75rem 0;border-bottom-color:var(--line)}
.swagger-ui .opblock-tag small{padding:0 .75rem;color:var(--soft)}
.swagger-ui .opblock{box-shadow:none;border-radius:8px}
.swagger-ui .opblock .opblock-section-header{box-shadow:none}
#reference .headers td{font-family:inherit;font-weight:400}
@media (max-width:40rem){
.swagger-ui .opblock-tag{flex-wrap:wrap}
.swagger-ui .opblock-tag small{flex-basis:80%;padding:0}
.swagger-ui :is(.parameters-col_name,.parameters-col_description,.response-col_status,.response-col_description){display:block;width:auto!important;min-width:0;padding-right:0}
.swagger-ui table.parameters thead,.swagger-ui .responses-table thead{display:none}
.swagger-ui .opblock-body :is(pre,table,.tab,textarea,select,input[type=text]){max-width:100%}
.swagger-ui .opblock-section-header{flex-wrap:wrap}
.swagger-ui .execute-wrapper .btn{width:100%}
}`

interface Asset {
  readonly type: string
  readonly load: () => Promise<Buffer>
}

const SCRIPT = "text/javascript; charset=utf-8"
const SHEET = "text/css; charset=utf-8"

const assets: Readonly<Record<string, Asset>> = {
  "viewer.js": { type: SCRIPT, load: () => readFile(libraryFile("static/swagger-ui-bundle.js")) },
  "viewer.css": { type: SHEET, load: () => readFile(libraryFile("static/swagger-ui.css")) },
  "start.js": { type: SCRIPT, load: async () => Buffer.from(START_SCRIPT) },
  "page.css": { type: SHEET, load: async () => Buffer.from(STYLE) },
}

export interface Reference {
  /** Changes whenever a file below `/docs/assets/{version}/` does. */
  readonly version: string
  readonly html: string
  asset(name: string): KeptDocument | undefined
}

export const createReference = (root: string): Reference => {
  const library = JSON.parse(readFileSync(libraryFile("package.json"), "utf8")) as { version: string }
  const own = createHash("sha256").update(START_SCRIPT).update(STYLE).digest("hex").slice(0, 8)
  const version = `${library.version}-${own}`
  const kept = new Map(
    Object.entries(assets).map(([name, { type, load }]) => [
      name,
      createKeptDocument({ type, load, cacheControl: IMMUTABLE }),
    ]),
  )
  const at = (name: string) => `${root}/docs/assets/${version}/${name}`
  return {
    version,
    html: `<!doctype html><html lang="en"><head>${head("API reference · Svc")}<link rel="stylesheet" href="${at("viewer.css")}"><link rel="stylesheet" href="${at("page.css")}"></head><body>${bar(root, "docs")}<main id="reference"><noscript><p>The reference needs scripts; <a href="${root}/openapi.json">openapi.json</a> says the same.</p></noscript></main><script src="${at("viewer.js")}"></script><script src="${at("start.js")}" data-openapi="${root}/openapi.json" data-root="${root}"></script></body></html>`,
    asset: name => kept.get(name),
  }
}
