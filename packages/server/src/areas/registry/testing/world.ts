/** What the tests of the registry share. */
import assert from "node:assert/strict"
import { hash, randomBytes } from "node:crypto"
import { request } from "node:http"
import type { TestContext } from "node:test"
import type { Scope } from "@svc/contract"
import { type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"
import { noteReply } from "../../../testing/watch.ts"

export const ROOT = "/v1/registry/v2"
export const MANIFEST = "application/vnd.oci.image.manifest.v1+json"
export const INDEX = "application/vnd.oci.image.index.v1+json"
const CONFIG = "application/vnd.oci.image.config.v1+json"
const LAYER = "application/vnd.oci.image.layer.v1.tar"

export const digestOf = (content: string | Uint8Array, algorithm = "sha256"): string =>
  `${algorithm}:${hash(algorithm, content)}`

export const basic = (secret: string) => ({
  authorization: `Basic ${Buffer.from(`anyone:${secret}`).toString("base64")}`,
})

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream

export interface RegistryWorld {
  readonly p: TestPlatform
  readonly projectId: string
  readonly secret: string
  /** A request to the repositories of the project, as `app/blobs/uploads/`. */
  call(
    method: string,
    path: string,
    options?: { body?: Body; headers?: Record<string, string> },
  ): Promise<Response>
  /** The same, and the code of the refusal that it must be. */
  refused(...asked: Parameters<RegistryWorld["call"]>): Promise<readonly [number, string]>
  begin(repository: string): Promise<string>
  pushBlob(repository: string, content: string | Uint8Array<ArrayBuffer>): Promise<string>
  pushManifest(repository: string, reference: string, manifest: unknown, type?: string): Promise<string>
  /** An image of one layer; the digest of its manifest. */
  pushImage(repository: string, tag: string, layer?: string | Uint8Array<ArrayBuffer>): Promise<string>
  /** A request whose body is only announced. */
  announce(method: string, path: string, bytes: number): Promise<number>
}

export const descriptorOf = (content: string | Uint8Array, mediaType = LAYER) => ({
  mediaType,
  digest: digestOf(content),
  size: Buffer.byteLength(content),
})

export const imageOf = (config: string, layers: readonly (string | Uint8Array)[], more: object = {}) => ({
  schemaVersion: 2,
  mediaType: MANIFEST,
  config: descriptorOf(config, CONFIG),
  layers: layers.map(layer => descriptorOf(layer)),
  ...more,
})

export const connect = (p: TestPlatform, projectId: string, secret: string): RegistryWorld => {
  const call: RegistryWorld["call"] = (method, path, { body, headers } = {}) =>
    p.request(`${ROOT}/${projectId}/${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...headers },
      ...(body !== undefined && { body, duplex: "half" }),
    } as RequestInit)

  const pushBlob: RegistryWorld["pushBlob"] = async (repository, content) => {
    const digest = digestOf(content)
    const { status } = await call("POST", `${repository}/blobs/uploads/?digest=${digest}`, { body: content })
    assert.equal(status, 201)
    return digest
  }
  const pushManifest: RegistryWorld["pushManifest"] = async (
    repository,
    reference,
    manifest,
    type = MANIFEST,
  ) => {
    const body = JSON.stringify(manifest)
    const reply = await call("PUT", `${repository}/manifests/${reference}`, {
      body,
      headers: { "content-type": type },
    })
    assert.equal(reply.status, 201, await reply.text())
    return reply.headers.get("docker-content-digest") ?? ""
  }
  return {
    ...{ p, projectId, secret, call, pushBlob, pushManifest },
    async refused(...asked) {
      const reply = await call(...asked)
      const { errors } = (await reply.json()) as { errors: { code: string }[] }
      return [reply.status, errors[0]?.code ?? ""]
    },
    async begin(repository) {
      const reply = await call("POST", `${repository}/blobs/uploads/`)
      assert.equal(reply.status, 202)
      return reply.headers.get("docker-upload-uuid") ?? ""
    },
    async pushImage(repository, tag, layer = randomBytes(1000)) {
      const config = JSON.stringify({
        architecture: "amd64",
        os: "linux",
        rootfs: { type: "layers", diff_ids: [] },
      })
      await pushBlob(repository, config)
      await pushBlob(repository, layer)
      return pushManifest(repository, tag, imageOf(config, [layer]))
    },
    announce: (method, path, bytes) =>
      new Promise((resolve, reject) => {
        const url = `${p.url}${ROOT}/${projectId}/${path}`
        const headers = { authorization: `Bearer ${secret}`, "content-length": bytes }
        const asked = request(url, { method, headers })
        asked.on("error", reject).on("response", reply => {
          noteReply(method, url, reply.statusCode ?? 0, String(reply.headers["x-error-code"]))
          resolve(reply.statusCode ?? 0)
          asked.destroy()
        })
        asked.flushHeaders()
      }),
  }
}

export const registryWorld = async (
  t: Pick<TestContext, "after">,
  { scopes = ["registry:pull", "registry:push"], ...options }: PlatformOptions & { scopes?: Scope[] } = {},
): Promise<RegistryWorld> => {
  const p = await platform(t, options)
  const { projectId } = await p.tenant("acme")
  const { secret } = await p.key("acme", scopes)
  return connect(p, projectId, secret)
}
