/** What the tests of builds share. */
import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { gunzipSync, gzipSync } from "node:zlib"
import type { Svc } from "@svc/sdk"
import { Parser } from "tar"
import { type TestEntry, tarOf } from "../../../services/images/testing/tar.ts"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"

export type Build = Awaited<ReturnType<Svc["builds"]["get"]>>
type UploadQuery = Parameters<Svc["builds"]["upload"]>[0]

export interface BuildWorld {
  readonly p: TestPlatform
  readonly svc: Svc
  readonly secret: string
  readonly projectId: string
}

export const buildWorld = async (t: Pick<TestContext, "after">, options: PlatformOptions = {}) => {
  const p = await platform(t, options)
  return await tenantOf(p, "acme")
}

export const tenantOf = async (p: TestPlatform, name: string): Promise<BuildWorld> => {
  const { projectId } = await p.tenant(name)
  const { secret } = await p.key(name, everyScope)
  return { p, svc: p.as(secret), secret, projectId }
}

/** A folder as an upload: texts by path, and entries that no text can be. */
export const folderOf = (files: Readonly<Record<string, string | Buffer>>, ...more: TestEntry[]): Buffer =>
  gzipSync(tarOf(...Object.entries(files).map(([path, content]) => ({ path, content })), ...more))

export const upload = (
  { svc }: Pick<BuildWorld, "svc">,
  folder: Buffer,
  query: UploadQuery = {},
): Promise<Build> => svc.builds.upload(query, { body: folder as Buffer<ArrayBuffer> })

/** The build once it is over. */
export const over = ({ svc }: Pick<BuildWorld, "svc">, id: string): Promise<Build> =>
  eventually("the build is over", async () => {
    const build = await svc.builds.get({ id })
    return build.status === "QUEUED" || build.status === "WORKING" ? undefined : build
  })

export const logOf = async ({ svc }: Pick<BuildWorld, "svc">, id: string): Promise<string> =>
  (await svc.builds.logs({ id, limit: 1_000 })).logs.map(({ message }) => message).join("\n")

export const build = async (world: BuildWorld, folder: Buffer, query: UploadQuery = {}): Promise<Build> =>
  await over(world, (await upload(world, folder, query)).id)

/** A build that succeeds. */
export const built = async (world: BuildWorld, folder: Buffer, query: UploadQuery = {}): Promise<Build> => {
  const done = await build(world, folder, query)
  assert.equal(done.status, "SUCCESS", `${done.status_reason}\n${await logOf(world, done.id)}`)
  return done
}

export interface Pulled {
  readonly config: Readonly<Record<string, unknown>>
  readonly history: readonly { readonly created_by?: string; readonly empty_layer?: boolean }[]
  /** Of each layer, lines as `path content`. */
  readonly layers: readonly (readonly string[])[]
}

const entriesOf = (layer: Buffer): string[] => {
  const entries: string[] = []
  const parser = new Parser({
    onReadEntry(entry) {
      const chunks: Buffer[] = []
      const mode = ((entry.mode ?? 0) & 0o7777).toString(8)
      entry.on("data", chunk => chunks.push(chunk))
      entry.on("end", () => {
        const content = Buffer.concat(chunks).toString().slice(0, 200)
        entries.push(
          `${entry.path} ${mode} ${entry.uid}:${entry.gid} ${entry.linkpath ?? ""}${content}`.trim(),
        )
      })
    },
  })
  parser.end(gunzipSync(layer))
  return entries
}

/** The image as the registry hands it to anybody. */
export const pull = async (
  { p, secret, projectId }: BuildWorld,
  { image_tag, image_digest }: Build,
): Promise<Pulled> => {
  const repository = image_tag.split(":")[0]
  const get = async (path: string): Promise<Buffer> => {
    const reply = await p.request(`/v2/${projectId}/${repository}/${path}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    assert.equal(reply.status, 200)
    return Buffer.from(await reply.arrayBuffer())
  }
  const manifest = JSON.parse((await get(`manifests/${image_digest}`)).toString()) as {
    config: { digest: string }
    layers: { digest: string }[]
  }
  const document = JSON.parse((await get(`blobs/${manifest.config.digest}`)).toString())
  const layers: string[][] = []
  for (const { digest } of manifest.layers) layers.push(entriesOf(await get(`blobs/${digest}`)))
  return { config: document.config, history: document.history, layers }
}
