/** skopeo, which shares its code with Podman and Buildah, against the registry. Skipped by name where it is missing. */
import assert from "node:assert/strict"
import { execFile, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { digestOf, INDEX, imageOf, MANIFEST, registryWorld } from "./testing/world.ts"

const run = promisify(execFile)
const missing = spawnSync("skopeo", ["--version"]).error === undefined ? false : "skopeo is not installed"

/** An image as a folder in the layout of the OCI image specification. */
const writeLayout = async (folder: string, layer: Buffer): Promise<string> => {
  await mkdir(join(folder, "blobs/sha256"), { recursive: true })
  const diff = digestOf(layer)
  const config = JSON.stringify({
    ...{ architecture: "amd64", os: "linux", config: { Cmd: ["/bin/true"] } },
    rootfs: { type: "layers", diff_ids: [diff] },
  })
  const manifest = JSON.stringify(imageOf(config, [layer]))
  for (const content of [config, manifest, layer])
    await writeFile(join(folder, "blobs/sha256", digestOf(content).slice("sha256:".length)), content)
  const digest = digestOf(manifest)
  const described = { mediaType: MANIFEST, digest, size: manifest.length }
  const named = { ...described, annotations: { "org.opencontainers.image.ref.name": "v1" } }
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }))
  await writeFile(
    join(folder, "index.json"),
    JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }),
  )
  return digest
}

test("skopeo pushes an image, inspects it, mounts its layers elsewhere, pulls it back and deletes it", {
  skip: missing,
}, async t => {
  const { p, projectId, secret, call } = await registryWorld(t)
  const folder = await mkdtemp(join(tmpdir(), "svc-skopeo-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const layer = randomBytes(3 * 1024 ** 2)
  const digest = await writeLayout(join(folder, "in"), layer)
  const host = new URL(p.url).host
  const at = (name: string) => `docker://${host}/${projectId}/${name}`
  await writeFile(
    join(folder, "policy.json"),
    JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }),
  )
  const skopeo = async (...words: string[]) => {
    const global = ["--policy", join(folder, "policy.json"), "--registries.d", folder, "--tmpdir", folder]
    const { stdout } = await run("skopeo", [...global, ...words], {
      env: { PATH: process.env.PATH, HOME: folder },
    })
    return stdout
  }
  const creds = `anyone:${secret}`
  const push = ["copy", "--dest-tls-verify=false", "--dest-creds", creds, "--preserve-digests"]
  await skopeo(...push, `oci:${join(folder, "in")}:v1`, at("team/app:v1"))
  const inspected = JSON.parse(
    await skopeo("inspect", "--tls-verify=false", "--creds", creds, at("team/app:v1")),
  )
  assert.deepEqual([inspected.Digest, inspected.RepoTags], [digest, ["v1"]])

  const both = [...push, "--src-tls-verify=false", "--src-creds", creds]
  await skopeo(...both, at("team/app:v1"), at("team/copy:v2"))
  const pull = ["copy", "--preserve-digests", "--src-tls-verify=false", "--src-creds", creds]
  await skopeo(...pull, at("team/copy:v2"), `oci:${join(folder, "out")}:v2`)
  const file = join(folder, "out/blobs/sha256", digestOf(layer).slice("sha256:".length))
  assert.ok((await readFile(file)).equals(layer))
  const tags = JSON.parse(await skopeo("list-tags", "--tls-verify=false", "--creds", creds, at("team/copy")))
  assert.deepEqual(tags.Tags, ["v2"])

  await skopeo("delete", "--tls-verify=false", "--creds", creds, at("team/copy:v2"))
  assert.equal((await call("GET", "team%2Fcopy/manifests/v2")).status, 404)
  await assert.rejects(
    skopeo("inspect", "--tls-verify=false", "--creds", "anyone:wrong", at("team/app:v1")),
    /unauthorized|authentication required/i,
  )
})
