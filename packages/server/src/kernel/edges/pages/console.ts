/**
 * The web console: one page and its files, as `tools/console.ts` made them. Nothing of it is read before somebody asks, and
 * only the list of names stays in memory.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { accepts, hasAlready } from "./documents.ts"
import { escapeHtml, head, renderPage } from "./layout.ts"

const METHOD = ["GET", "HEAD"]
const FOLDER = new URL("../../../../../console/dist/", import.meta.url)

/**
 * Scripts of our own files alone, styles set by them, requests to this host. The page posts no form and is in no frame; in
 * its own frames are pages of this host.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ")

/**
 * Where a mail of strangers is shown: a page that says when it is there and becomes what it is told. In its sandbox it has no
 * origin, no cookie and no form. Only its own script runs, nothing is fetched, so no sender learns that the mail was opened, and the
 * console's policy lets it go nowhere else.
 */
const FRAME_SCRIPT =
  'addEventListener("message",({source,data})=>{if(source===parent)document.documentElement.innerHTML=data});parent.postMessage("ready","*")'
const FRAME = `<!doctype html><html lang="en"><head><title>Mail</title><script>${FRAME_SCRIPT}</script></head><body></body></html>`
export const FRAME_POLICY = [
  "default-src 'none'",
  `script-src 'sha256-${createHash("sha256").update(FRAME_SCRIPT).digest("base64")}'`,
  "style-src 'unsafe-inline'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  "sandbox allow-scripts",
].join("; ")

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
}

interface Manifest {
  readonly script: string
  readonly style: string
  readonly theme: string
  readonly operations: string
  readonly names: readonly string[]
}

interface Made {
  readonly names: ReadonlySet<string>
  readonly html: string
  readonly etag: string
}

const render = ({ script, style, theme, operations }: Manifest, root: string): string => {
  const at = (name: string) => escapeHtml(`${root}/console/assets/${name}`)
  const own = `<html lang="en" data-root="${escapeHtml(root)}" data-operations="${escapeHtml(operations)}">`
  return [
    `<!doctype html>${own}<head>${head("Svc")}<meta name="color-scheme" content="light dark">`,
    `<script src="${at(theme)}"></script><link rel="stylesheet" href="${at(style)}">`,
    `<script type="module" src="${at(script)}"></script>`,
    `</head><body><div id="app"></div><noscript>The console needs JavaScript.</noscript></body></html>`,
  ].join("")
}

const notMade = (root: string): string =>
  renderPage({
    title: "The console has not been made",
    root,
    section: "none",
    main: `<h1>The console has not been made</h1><p><code>npm start</code> makes it, and says why it could not. <code>npm run bundle</code> makes it again. The API works without it.</p>`,
  })

const readMade = async (folder: URL, root: string): Promise<Made> => {
  const manifest = JSON.parse(await readFile(new URL("manifest.json", folder), "utf8")) as Manifest
  const html = render(manifest, root)
  const etag = `"${createHash("sha256").update(html).digest("base64url").slice(0, 22)}"`
  return { names: new Set(manifest.names), html, etag }
}

const sendAsset = async (folder: URL, name: string, request: FastifyRequest, reply: FastifyReply) => {
  const coding = accepts(request, "br") ? "br" : accepts(request, "gzip") ? "gzip" : undefined
  const etag = `"${name}${coding ? `.${coding}` : ""}"`
  reply.headers({ etag, "cache-control": "public, max-age=31536000, immutable", vary: "accept-encoding" })
  if (hasAlready(request, etag)) return reply.code(304).send()
  const file = coding === undefined ? name : `${name}.${coding === "br" ? "br" : "gz"}`
  const bytes = await readFile(new URL(file, folder))
  reply.type(TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream")
  return coding === undefined ? reply.send(bytes) : reply.header("content-encoding", coding).send(bytes)
}

export const addConsole = (pages: FastifyInstance, root: string, folder = FOLDER): void => {
  let made: Promise<Made> | undefined
  const find = (): Promise<Made | undefined> => {
    made ??= readMade(folder, root)
    return made.catch(() => {
      made = undefined
      return undefined
    })
  }

  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    const found = await find()
    reply.type("text/html; charset=utf-8").header("cache-control", "no-cache")
    if (!found) return reply.code(503).header("retry-after", "5").send(notMade(root))
    reply.headers({ "content-security-policy": CONSOLE_POLICY, etag: found.etag })
    return hasAlready(request, found.etag) ? reply.code(304).send() : reply.send(found.html)
  }
  pages.route({ method: METHOD, url: "/console", handler: sendPage })
  pages.route({
    method: METHOD,
    url: "/console/frame",
    handler: (_request, reply) =>
      reply
        .headers({
          "content-security-policy": FRAME_POLICY,
          "x-frame-options": "SAMEORIGIN",
          "cache-control": "no-cache",
        })
        .type("text/html; charset=utf-8")
        .send(FRAME),
  })
  // What ends like a file is none of the page's addresses.
  pages.route<{ Params: { "*": string } }>({
    method: METHOD,
    url: "/console/*",
    handler: (request, reply) =>
      /\.\w+$/.test(request.params["*"]) ? reply.callNotFound() : sendPage(request, reply),
  })
  pages.route<{ Params: { name: string } }>({
    method: METHOD,
    url: "/console/assets/:name",
    handler: async (request, reply) => {
      const { name } = request.params
      const found = await find()
      if (!found?.names.has(name)) return reply.callNotFound()
      return await sendAsset(folder, name, request, reply)
    },
  })
}
