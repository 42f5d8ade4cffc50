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

const STYLE = `${BASE_STYLE}
#reference{min-height:60vh}
html.dark-mode,html.dark-mode body{background:var(--ground)}
.bar{padding-inline:max(1.25rem,calc(50vw - 710px))}
.swagger-ui{font-family:inherit}
.swagger-ui .info{margin:2rem 0 1.25rem}
.swagger-ui .info .title,.swagger-ui .info p,.swagger-ui .opblock-tag,.swagger-ui .opblock .opblock-summary-description{font-family:inherit}
.swagger-ui .scheme-container{box-shadow:none;background:none;padding:0 0 1rem;margin:0}
.swagger-ui .opblock{box-shadow:none;border-radius:8px}
.swagger-ui .opblock-tag{border-bottom-color:var(--line)}`

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
