/** Programs of the command line that speak S3. */
import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Access, type Cases, execute, fetchText } from "./case.ts"
import { assertSameFile, assertSameTree, makeTree } from "./files.ts"

/** A case's name, and an empty folder of its own for what it fetches. */
const folders = (parent: string) => (name: string) => {
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  return folder
}

export const awsCases = (program: string, access: Access, parent: string): Cases => {
  const tree = makeTree(parent)
  const folder = folders(parent)
  const environment = {
    AWS_ACCESS_KEY_ID: access.accessKeyId,
    AWS_SECRET_ACCESS_KEY: access.secretAccessKey,
    AWS_DEFAULT_REGION: "us-east-1",
    AWS_CONFIG_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
  }
  const aws = (words: readonly string[], input?: string) =>
    execute(program, ["--endpoint-url", access.endpoint, ...words], environment, input)
  const s3 = (...words: readonly string[]) => aws(["s3", ...words])
  return {
    mb: async () => void (await s3("mb", "s3://aws-cli")),
    "cp up and down": async () => {
      await s3("cp", tree.small, "s3://aws-cli/cp/plain.txt")
      await s3("cp", "s3://aws-cli/cp/plain.txt", join(folder("cp"), "back"))
      assertSameFile(tree.small, join(folder("cp"), "back"))
    },
    "cp in parts": async () => {
      await s3("cp", tree.large, "s3://aws-cli/cp/large.bin")
      await s3("cp", "s3://aws-cli/cp/large.bin", join(folder("cp"), "large"))
      assertSameFile(tree.large, join(folder("cp"), "large"))
    },
    "cp within the store": async () => {
      await s3("cp", "s3://aws-cli/cp/large.bin", "s3://aws-cli/cp/copy.bin")
      await s3("cp", "s3://aws-cli/cp/copy.bin", join(folder("cp"), "copy"))
      assertSameFile(tree.large, join(folder("cp"), "copy"))
    },
    "cp of a stream": async () => {
      await aws(["s3", "cp", "-", "s3://aws-cli/cp/stream"], "streamed")
      assert.equal(await s3("cp", "s3://aws-cli/cp/stream", "-"), "streamed")
    },
    mv: async () => {
      await s3("mv", "s3://aws-cli/cp/stream", "s3://aws-cli/cp/moved")
      const listed = await s3("ls", "s3://aws-cli/cp/")
      assert.match(listed, / 8 moved\n/)
      assert.doesNotMatch(listed, /stream/)
    },
    sync: async () => {
      await s3("sync", tree.folder, "s3://aws-cli/sync")
      assert.equal(await s3("sync", tree.folder, "s3://aws-cli/sync"), "")
      await s3("sync", "s3://aws-cli/sync", folder("sync"))
      assertSameTree(tree, folder("sync"))
    },
    "sync --delete": async () => {
      await s3("cp", tree.small, "s3://aws-cli/sync/surplus")
      assert.match(await s3("sync", "--delete", tree.folder, "s3://aws-cli/sync"), /delete: .*surplus/)
    },
    presign: async () => {
      const url = (await s3("presign", "s3://aws-cli/cp/plain.txt")).trim()
      assert.equal(await fetchText(url), "hello")
    },
    "s3api head-object, get-object with a range": async () => {
      const where = ["--bucket", "aws-cli", "--key", "cp/plain.txt"]
      assert.match(await aws(["s3api", "head-object", ...where]), /"ContentLength": 5/)
      const file = join(folder("api"), "part")
      assert.match(await aws(["s3api", "get-object", ...where, "--range", "bytes=1-2", file]), /bytes 1-2\/5/)
    },
    "rm --recursive": async () => {
      await s3("rm", "--recursive", "s3://aws-cli/")
      assert.equal(await s3("ls", "--recursive", "s3://aws-cli/").catch(() => ""), "")
    },
    rb: async () => void (await s3("rb", "s3://aws-cli")),
  }
}

export const rcloneCases = (program: string, access: Access, parent: string): Cases => {
  const tree = makeTree(parent)
  const folder = folders(parent)
  const config = join(parent, "rclone.conf")
  writeFileSync(config, "")
  const environment = {
    RCLONE_CONFIG: config,
    RCLONE_CONFIG_SVC_TYPE: "s3",
    RCLONE_CONFIG_SVC_PROVIDER: "Other",
    RCLONE_CONFIG_SVC_ENDPOINT: access.endpoint,
    RCLONE_CONFIG_SVC_ACCESS_KEY_ID: access.accessKeyId,
    RCLONE_CONFIG_SVC_SECRET_ACCESS_KEY: access.secretAccessKey,
    RCLONE_S3_UPLOAD_CUTOFF: "6Mi",
    RCLONE_S3_CHUNK_SIZE: "5Mi",
    RCLONE_S3_COPY_CUTOFF: "6Mi",
    RCLONE_RETRIES: "1",
  }
  const rclone = (...words: readonly string[]) => execute(program, words, environment)
  return {
    "copy and check": async () => {
      await rclone("mkdir", "svc:rclone")
      await rclone("copy", tree.folder, "svc:rclone/in")
      await rclone("check", "--download", tree.folder, "svc:rclone/in")
    },
    "copy back": async () => {
      await rclone("copy", "svc:rclone/in", folder("back"))
      assertSameTree(tree, folder("back"))
    },
    "copy within the store, in parts": async () => {
      await rclone("copy", "svc:rclone/in", "svc:rclone/copied")
      await rclone("check", "--download", tree.folder, "svc:rclone/copied")
    },
    "lsf and size": async () => {
      const listed = await rclone("lsf", "--recursive", "--files-only", "svc:rclone/in")
      assert.deepEqual(listed.trim().split("\n").sort(), tree.names)
      assert.match(await rclone("size", "svc:rclone/in"), /Total objects: 5/)
    },
    "rcat and cat with a range": async () => {
      await execute(program, ["rcat", "svc:rclone/rcat"], environment, "streamed")
      assert.equal(await rclone("cat", "--offset", "2", "--count", "3", "svc:rclone/rcat"), "rea")
    },
    link: async () => {
      assert.equal(await fetchText((await rclone("link", "svc:rclone/in/plain.txt")).trim()), "hello")
    },
    "moveto and sync": async () => {
      await rclone("moveto", "svc:rclone/rcat", "svc:rclone/in/moved")
      await rclone("sync", tree.folder, "svc:rclone/in")
      await rclone("check", tree.folder, "svc:rclone/in")
    },
    purge: async () => {
      await rclone("purge", "svc:rclone")
      assert.doesNotMatch(await rclone("lsd", "svc:"), /rclone/)
    },
  }
}

export const s3cmdCases = (program: string, access: Access, parent: string): Cases => {
  const tree = makeTree(parent)
  const folder = folders(parent)
  const config = join(parent, "s3cfg")
  const { host } = new URL(access.root)
  const settings = {
    access_key: access.accessKeyId,
    secret_key: access.secretAccessKey,
    host_base: host,
    host_bucket: host,
    use_https: "False",
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(config, `[default]\n${lines.join("\n")}\n`, { mode: 0o600 })
  const s3cmd = (...words: readonly string[]) =>
    execute(program, ["--config", config, "--no-progress", "--multipart-chunk-size-mb=5", ...words], {
      LC_ALL: "C.UTF-8",
    })
  return {
    "mb, put, get": async () => {
      await s3cmd("mb", "s3://s3cmd")
      await s3cmd("put", tree.small, "s3://s3cmd/plain.txt")
      await s3cmd("get", "s3://s3cmd/plain.txt", join(folder("get"), "back"))
      assertSameFile(tree.small, join(folder("get"), "back"))
    },
    "put in parts": async () => {
      await s3cmd("put", tree.large, "s3://s3cmd/large.bin")
      await s3cmd("get", "s3://s3cmd/large.bin", join(folder("get"), "large"))
      assertSameFile(tree.large, join(folder("get"), "large"))
    },
    "ls, info, du": async () => {
      assert.match(await s3cmd("ls", "s3://s3cmd"), /5 +s3:\/\/s3cmd\/plain\.txt/)
      assert.match(await s3cmd("info", "s3://s3cmd/plain.txt"), /MD5 sum: +5d41402abc4b2a76b9719d911017c592/)
      assert.match(await s3cmd("du", "s3://s3cmd"), / 2 objects/)
    },
    "cp and mv": async () => {
      await s3cmd("cp", "s3://s3cmd/large.bin", "s3://s3cmd/copy.bin")
      await s3cmd("mv", "s3://s3cmd/copy.bin", "s3://s3cmd/moved.bin")
      await s3cmd("get", "s3://s3cmd/moved.bin", join(folder("get"), "moved"))
      assertSameFile(tree.large, join(folder("get"), "moved"))
    },
    "modify (headers)": async () => {
      await s3cmd("modify", "--add-header=Cache-Control:max-age=60", "s3://s3cmd/plain.txt")
      const url = (await s3cmd("signurl", "s3://s3cmd/plain.txt", "+600")).trim()
      assert.equal((await fetch(url)).headers.get("cache-control"), "max-age=60")
    },
    signurl: async () => {
      assert.equal(await fetchText((await s3cmd("signurl", "s3://s3cmd/plain.txt", "+600")).trim()), "hello")
    },
    sync: async () => {
      await s3cmd("sync", `${tree.folder}/`, "s3://s3cmd/sync/")
      await s3cmd("sync", "s3://s3cmd/sync/", `${folder("sync")}/`)
      assertSameTree(tree, folder("sync"))
    },
    "rm --recursive, rb": async () => {
      await s3cmd("rm", "--recursive", "--force", "s3://s3cmd/")
      await s3cmd("rb", "s3://s3cmd")
    },
  }
}

export const minioClientCases = (program: string, access: Access, parent: string): Cases => {
  const tree = makeTree(parent)
  const folder = folders(parent)
  const { protocol, host } = new URL(access.root)
  const environment = {
    MC_CONFIG_DIR: folder("mc-config"),
    MC_HOST_svc: `${protocol}//${access.accessKeyId}:${access.secretAccessKey}@${host}`,
    MC_DISABLE_PAGER: "1",
  }
  const run = (words: readonly string[], input?: string) =>
    execute(program, ["--quiet", "--no-color", ...words], environment, input)
  const mc = (...words: readonly string[]) => run(words)
  return {
    "mb, cp, cat": async () => {
      await mc("mb", "svc/mc-bucket")
      await mc("cp", tree.small, "svc/mc-bucket/plain.txt")
      assert.equal(await mc("cat", "svc/mc-bucket/plain.txt"), "hello")
      assert.equal(await mc("cat", "--offset", "3", "svc/mc-bucket/plain.txt"), "lo")
    },
    "cp in parts, and back": async () => {
      await mc("cp", tree.large, "svc/mc-bucket/large.bin")
      await mc("cp", "svc/mc-bucket/large.bin", join(folder("cp"), "large"))
      assertSameFile(tree.large, join(folder("cp"), "large"))
    },
    "cp within the store": async () => {
      await mc("cp", "svc/mc-bucket/large.bin", "svc/mc-bucket/copy.bin")
      await mc("cp", "svc/mc-bucket/copy.bin", join(folder("cp"), "copy"))
      assertSameFile(tree.large, join(folder("cp"), "copy"))
    },
    pipe: async () => {
      await run(["pipe", "svc/mc-bucket/piped"], "streamed")
      assert.equal(await mc("cat", "svc/mc-bucket/piped"), "streamed")
    },
    "stat, ls, du, find": async () => {
      assert.match(await mc("stat", "svc/mc-bucket/plain.txt"), /5 B/)
      assert.match(await mc("ls", "svc/mc-bucket"), /plain\.txt/)
      assert.match(await mc("du", "svc/mc-bucket"), /4 objects/)
      assert.match(await mc("find", "svc/mc-bucket", "--name", "*.txt"), /plain\.txt/)
    },
    "mirror and diff": async () => {
      await mc("mirror", tree.folder, "svc/mc-bucket/mirror")
      assert.equal(await mc("diff", tree.folder, "svc/mc-bucket/mirror"), "")
      await mc("mirror", "svc/mc-bucket/mirror", folder("mirror"))
      assertSameTree(tree, folder("mirror"))
    },
    "share download": async () => {
      const { share } = JSON.parse(await mc("--json", "share", "download", "svc/mc-bucket/plain.txt"))
      assert.equal(await fetchText(share), "hello")
    },
    mv: async () => {
      await mc("mv", "svc/mc-bucket/piped", "svc/mc-bucket/moved")
      assert.equal(await mc("cat", "svc/mc-bucket/moved"), "streamed")
    },
    "rm --recursive, rb": async () => {
      await mc("rm", "--recursive", "--force", "svc/mc-bucket")
      await mc("rb", "svc/mc-bucket")
    },
  }
}
