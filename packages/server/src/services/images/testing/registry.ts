/** A registry on this machine that speaks the distribution protocol, tokens included, over what a test pushes. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import type { Ends } from "../../../testing/ends.ts"
import { architecture } from "../manifest.ts"
import { sha256 } from "../registry.ts"

const OCI = "application/vnd.oci.image"

export interface PushOptions {
  /** `config` of the image's configuration. */
  readonly config?: object
  /** Makes it a list of manifests, for several architectures. */
  readonly isIndex?: boolean
  readonly architecture?: string
}

export interface TestRegistry {
  /** `127.0.0.1:port`, which references begin with. */
  readonly host: string
  /** Lines as `GET /v2/…`. */
  readonly requests: string[]
  /** Puts an image of these layers, as tars, under a tag; gives the digest that the tag stands for. */
  push(repository: string, tag: string, layers: readonly Buffer[], options?: PushOptions): string
  /** Answers a blob with other bytes than its digest says. */
  corrupt(digest: string): void
  readonly blobs: ReadonlyMap<string, Buffer>
  isDown: boolean
  /** Waits before each blob. */
  beforeBlob: () => Promise<void>
}

const descriptorOf = (mediaType: string, bytes: Buffer) => ({
  mediaType,
  digest: sha256(bytes),
  size: bytes.length,
})

export const startRegistry = async (t: Ends): Promise<TestRegistry> => {
  const blobs = new Map<string, Buffer>()
  const manifests = new Map<string, { bytes: Buffer; type: string }>()
  const token = randomUUID()
  const requests: string[] = []
  const server = createServer((request, reply) => void serve(request, reply))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  const challenge = (reply: ServerResponse, repository: string) => {
    const value = `Bearer realm="http://${host}/token",service="test, registry",scope="repository:${repository}:pull"`
    reply.writeHead(401, { "www-authenticate": value }).end('{"errors":[]}')
  }

  const serve = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const { url = "", headers } = request
    requests.push(`${request.method} ${url}`)
    if (registry.isDown) return void reply.writeHead(503).end()
    if (url.startsWith("/token?")) return void reply.end(JSON.stringify({ token, expires_in: 300 }))
    if (url.startsWith("/elsewhere/")) {
      // The token must not be sent to the server that stores the blobs.
      if (headers.authorization !== undefined) return void reply.writeHead(400).end()
      await registry.beforeBlob()
      return void reply.end(blobs.get(url.slice("/elsewhere/".length)))
    }
    const [, repository = "", kind, name = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? []
    if (headers.authorization !== `Bearer ${token}`) return challenge(reply, repository)
    const manifest = kind === "manifests" ? manifests.get(`${repository}:${name}`) : undefined
    if (manifest) return void reply.writeHead(200, { "content-type": manifest.type }).end(manifest.bytes)
    if (kind === "blobs" && blobs.has(name))
      return void reply
        .writeHead(307, { location: `http://localhost:${host.split(":")[1]}/elsewhere/${name}` })
        .end()
    reply.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
  }

  const putManifest = (repository: string, document: object, type: string): string => {
    const bytes = Buffer.from(JSON.stringify(document))
    const digest = sha256(bytes)
    manifests.set(`${repository}:${digest}`, { bytes, type })
    return digest
  }

  const registry: TestRegistry = {
    ...{ host, requests, blobs, isDown: false, beforeBlob: async () => undefined },
    corrupt: digest => void blobs.set(digest, Buffer.alloc(blobs.get(digest)?.length ?? 0, "x")),
    push(repository, tag, layers, { config = {}, isIndex = false, architecture: made = architecture } = {}) {
      const zipped = layers.map(layer => gzipSync(layer))
      const document = {
        os: "linux",
        architecture: made,
        config,
        rootfs: { type: "layers", diff_ids: layers.map(sha256) },
      }
      const image = Buffer.from(JSON.stringify(document))
      for (const blob of [...zipped, image]) blobs.set(sha256(blob), blob)
      const type = `${OCI}.manifest.v1+json`
      const digest = putManifest(
        repository,
        {
          ...{ schemaVersion: 2, mediaType: type, config: descriptorOf(`${OCI}.config.v1+json`, image) },
          layers: zipped.map(layer => descriptorOf(`${OCI}.layer.v1.tar+gzip`, layer)),
        },
        type,
      )
      const named = isIndex
        ? putManifest(
            repository,
            {
              schemaVersion: 2,
              manifests: [
                {
                  digest: sha256(Buffer.from("other")),
                  size: 5,
                  platform: { os: "linux", architecture: "s390x" },
                },
                { digest, size: 1, platform: { os: "linux", architecture: made } },
              ],
            },
            `${OCI}.index.v1+json`,
          )
        : digest
      const found = manifests.get(`${repository}:${named}`)
      if (found) manifests.set(`${repository}:${tag}`, found)
      return digest
    },
  }
  return registry
}
