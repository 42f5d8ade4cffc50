/** What serves static files in images that have no program of their own. */
export const STATIC_SERVER = `import { createReadStream } from "node:fs"
import { realpath, stat } from "node:fs/promises"
import { createServer } from "node:http"
import { extname, join, resolve, sep } from "node:path"

const root = await realpath(process.argv[2] ?? "/srv")
const types = {
  ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png",
  ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".ico": "image/x-icon",
  ".txt": "text/plain; charset=utf-8", ".xml": "application/xml", ".wasm": "application/wasm", ".woff2": "font/woff2",
  ".pdf": "application/pdf", ".mp4": "video/mp4", ".webmanifest": "application/manifest+json",
}

const find = async path => {
  const wanted = resolve(root, "." + path)
  for (const name of [wanted, join(wanted, "index.html"), wanted + ".html"]) {
    const real = await realpath(name).catch(() => undefined)
    if (!real || (real !== root && !real.startsWith(root + sep))) continue
    const found = await stat(real)
    if (found.isFile()) return { file: real, size: found.size }
  }
  return undefined
}

createServer(async (request, reply) => {
  try {
    if (request.method !== "GET" && request.method !== "HEAD") return reply.writeHead(405, { allow: "GET, HEAD" }).end()
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname)
    const found = await find(path)
    if (!found) return reply.writeHead(404, { "content-type": "text/plain" }).end("not found\\n")
    const type = types[extname(found.file).toLowerCase()] ?? "application/octet-stream"
    reply.writeHead(200, { "content-type": type, "content-length": found.size })
    if (request.method === "HEAD") return reply.end()
    createReadStream(found.file).on("error", () => reply.destroy()).pipe(reply)
  } catch {
    reply.headersSent ? reply.destroy() : reply.writeHead(400).end()
  }
}).listen(Number(process.env.PORT ?? 8080))
`
