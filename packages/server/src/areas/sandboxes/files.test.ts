/** Files of sandboxes: which are reached by name, and that no trick reaches others. */

import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

const read = async (svc: Svc, id: string, path: string): Promise<Buffer> =>
  Buffer.from(await (await svc.sandboxes.readFile({ id, path })).arrayBuffer())

const missing = refusedAs("file_not_found", 404)
const outside = refusedAs("path_outside_guest_roots", 502)

const open = async (p: TestPlatform) => {
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const run = async (command: string, user: "user" | "root" = "user") => {
    const ran = await svc.sandboxes.runCommand({ id, command, user })
    assert.equal(ran.exit_code, 0, `${command}: ${ran.stderr}`)
    return ran.stdout
  }
  return { svc, id, run }
}

test("files are written and read below the three roots, byte by byte, with mode and owner", async t => {
  const { svc, id, run } = await open(await platform(t))
  const bytes = randomBytes(300_000)

  await svc.sandboxes.writeFiles({
    id,
    files: [
      { path: "notes/a.txt", content: "über" },
      { path: "/home/user/b.bin", content: bytes.toString("base64"), encoding: "base64" },
      {
        path: "/tmp/run.sh",
        content_base64: Buffer.from("#!/bin/sh\necho ran\n").toString("base64"),
        mode: "0755",
      },
      { path: "/workspace/roots", content: "", owner: "root", mode: "600" },
    ],
  })
  assert.equal(await run("cat /workspace/notes/a.txt"), "über")
  assert.equal(await run("/tmp/run.sh"), "ran\n")
  assert.equal(await run("stat -c '%U %a' /workspace/roots /tmp/run.sh"), "root 600\nuser 755\n")
  assert.deepEqual(await read(svc, id, "/home/user/b.bin"), bytes)

  await svc.sandboxes.writeFiles({ id, cwd: "/tmp", files: [{ path: "here", content: "x" }] })
  assert.equal(await run("cat /tmp/here"), "x")
  const answer = await svc.sandboxes.readFile({ id, path: "tmp/here" })
  assert.deepEqual(
    [answer.headers.get("content-type"), answer.headers.get("content-length")],
    ["application/octet-stream", "1"],
  )
  await assert.rejects(read(svc, id, "tmp/nothing"), missing)
})

test("a relative path reads what it wrote", async t => {
  const { svc, id, run } = await open(await platform(t))
  await svc.sandboxes.writeFiles({ id, files: [{ path: "notes/a.txt", content: "1" }] })
  await svc.sandboxes.putFile({ id, path: "notes/b.txt" }, { body: "2" })
  // Begins with the name of a root, but was written where commands begin.
  await svc.sandboxes.writeFiles({ id, files: [{ path: "tmp/c.txt", content: "3" }] })
  assert.equal(await run("cat notes/a.txt notes/b.txt /workspace/tmp/c.txt"), "123")
  const paths = ["notes/a.txt", "notes/b.txt", "tmp/c.txt", "workspace/notes/a.txt", "/workspace/notes/b.txt"]
  const texts = await Promise.all(paths.map(async path => (await read(svc, id, path)).toString()))
  assert.deepEqual(texts, ["1", "2", "3", "1", "2"])
})

test("a write outside the roots is 502 and a read 404, by its name, by dots, and by links of every kind", async t => {
  const { svc, id, run } = await open(await platform(t))
  await run(
    "cd /workspace && ln -s /etc etc && ln -s /etc/passwd passwd && ln -s / all && ln -s ../../etc up && ln -s all/etc far && mkdir in && ln -s ../.. in/out && ln -s /proc/self/root proc",
  )
  const paths = [
    ...[
      "/etc/passwd",
      "/",
      "/workspace",
      "/workspace/../etc/passwd",
      "/tmp/../../etc/passwd",
      "/workspacer/x",
    ],
    ...["/home/other/x", "/proc/self/environ", "/root/.ssh/authorized_keys"],
    ...["/workspace/etc/passwd", "/workspace/all/etc/passwd", "/workspace/up/passwd"],
    ...["/workspace/far/passwd", "/workspace/in/out/etc/passwd", "/workspace/proc/etc/passwd"],
  ]
  for (const path of paths) {
    const files = [{ path, content: "mine" }]
    await assert.rejects(svc.sandboxes.writeFiles({ id, files }), outside, `write ${path}`)
    if (path === "/") continue
    await assert.rejects(read(svc, id, path), missing, `read ${path}`)
    await assert.rejects(svc.sandboxes.putFile({ id, path }, { body: "mine" }), outside, `put ${path}`)
  }
  await assert.rejects(read(svc, id, "/workspace/passwd"), missing)
  // A file takes the place of a link that has its name; where the link led is none of it.
  await svc.sandboxes.writeFiles({ id, files: [{ path: "/workspace/passwd", content: "mine" }] })
  assert.equal((await run("cat /etc/passwd")).includes("mine"), false)
})

test("links that stay below a root are followed, and a link that changes under a write leads nowhere else", async t => {
  const { svc, id, run } = await open(await platform(t))
  await run("mkdir /workspace/real && ln -s real /workspace/alias")
  await svc.sandboxes.writeFiles({ id, files: [{ path: "/workspace/alias/x", content: "1" }] })
  assert.equal(await run("cat /workspace/real/x"), "1")

  const swap = "while :; do ln -sfn real alias; ln -sfn /etc alias; done"
  void svc.sandboxes
    .runCommand({ id, command: swap, timeout_seconds: 3, user: "root" })
    .catch(() => undefined)
  const written = await Promise.allSettled(
    Array.from({ length: 100 }, (_, n) =>
      svc.sandboxes.writeFiles({
        id,
        files: [{ path: `/workspace/alias/swapped-${n}`, content: "x", owner: "root" }],
      }),
    ),
  )
  assert.ok(written.length > 0)
  assert.equal(await run("ls /etc | grep -c swapped || true"), "0\n")
})

test("a request writes 1 to 64 files, and one that is wrong anywhere writes none", async t => {
  const { svc, id, run } = await open(await platform(t))
  const files = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `f${n}`, content: "x" }))
  for (const count of [0, 65])
    await assert.rejects(
      svc.sandboxes.writeFiles({ id, files: files(count) }),
      refusedAs("too_many_files", 400),
    )
  for (const wrong of [
    { path: "x", content: "not base64!", encoding: "base64" as const },
    { path: "x" },
    { path: "x", content: "a", content_base64: "YQ==" },
  ]) {
    const both = [{ path: "first", content: "x" }, wrong]
    await assert.rejects(svc.sandboxes.writeFiles({ id, files: both }), refusedAs("invalid_parameter", 400))
  }
  await assert.rejects(
    svc.sandboxes.writeFiles({
      id,
      files: [
        { path: "first", content: "x" },
        { path: "/etc/x", content: "x" },
      ],
    }),
    outside,
  )
  assert.equal(await run("ls /workspace"), "")
  await svc.sandboxes.writeFiles({ id, files: files(64) })
  assert.equal(await run("ls /workspace | wc -l"), "64\n")
})

test("what cannot be a file is refused, and a full disk is said to be full", async t => {
  const { svc, id, run } = await open(await platform(t))
  await run("mkdir /workspace/folder && mkfifo /workspace/pipe")
  const refused = refusedAs("invalid_parameter", 400)
  for (const path of ["/workspace/folder", "/workspace/pipe"])
    await assert.rejects(read(svc, id, path), missing, path)
  await assert.rejects(
    svc.sandboxes.writeFiles({ id, files: [{ path: "/workspace/folder", content: "x" }] }),
    refused,
  )
  const long = `workspace/${"n".repeat(256)}`
  for (const path of [long, `${long}/file`]) {
    await assert.rejects(read(svc, id, path), missing)
    await assert.rejects(svc.sandboxes.putFile({ id, path }, { body: "x" }), refused)
    const files = [{ path: `/${path}`, content: "x" }]
    await assert.rejects(svc.sandboxes.writeFiles({ id, files }), refused)
  }
  // Most of the disk at once, where it is one, and what is left of it or of the memory.
  await run(
    "{ fallocate -l 900M /workspace/most; head -c 250000000 /dev/zero > /workspace/full; } 2>/dev/null || true",
  )
  const body = new Uint8Array(20_000_000)
  await assert.rejects(svc.sandboxes.putFile({ id, path: "workspace/more" }, { body }), refused)
  assert.equal(await run("ls /workspace | grep -c more || true"), "0\n")
})

test("raw bytes stream in and out, and nothing is left of a body that breaks off", async t => {
  const p = await platform(t)
  const { svc, id, run } = await open(p)
  const bytes = randomBytes(30 * 2 ** 20)
  await svc.sandboxes.putFile({ id, path: "workspace/big.bin" }, { body: bytes })
  assert.deepEqual(await read(svc, id, "workspace/big.bin"), bytes)

  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(100_000))
    },
    pull(controller) {
      controller.error(new Error("the sender broke off"))
    },
  })
  await assert.rejects(svc.sandboxes.putFile({ id, path: "workspace/broken.bin" }, { body: broken }))
  await eventually(
    "nothing is left of it",
    () => run("ls -A /workspace"),
    names => names === "big.bin\n",
  )
})
