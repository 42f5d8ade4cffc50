/** What computers guarantee beside what all workloads do (services/workloads/workloads.test.ts). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { refusedAs, run, runningComputer, SCOPES, SMALL } from "./testing/computers.ts"
import { ed25519Key } from "./testing/keys.ts"

test("a computer has its name as its host name, and its size in its metrics", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  const id = await runningComputer(svc, "build-1")
  assert.equal((await svc.computers.get({ id })).name, "build-1")
  assert.equal(await run(svc, id, "hostname"), "build-1\n")
  assert.equal((await svc.computers.metrics({ id })).memory_total_bytes, 256 * 2 ** 20)
})

test("software that a computer installs is there after stop and start, and in no other computer", async t => {
  if (process.getuid?.() !== 0) return t.skip("it takes root")
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  const id = await runningComputer(svc, "own")
  const other = await runningComputer(svc, "other")
  const install =
    "printf 'echo mine' >/usr/local/bin/mine; chmod 755 /usr/local/bin/mine; mkdir /data; rm /usr/bin/env"
  await run(svc, id, install, "root")
  await svc.computers.stop({ id })
  await svc.computers.start({ id })
  const seen = "mine; test -d /data && echo data; test -e /usr/bin/env || echo no env"
  assert.equal(await run(svc, id, seen), "mine\ndata\nno env\n")
  const looked = await svc.computers.exec({ id: other, command: "mine || test -e /usr/bin/env && echo env" })
  assert.equal(looked.stdout, "env\n")
})

test("names are DNS labels and one machine's each; two projects may both have one", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  for (const name of ["A", "a_b", "-a", "a-", "a.b", "a".repeat(64), "ü", "a b"]) {
    await assert.rejects(svc.computers.create({ name, ...SMALL }), refusedAs("invalid_name", 400), name)
    await assert.rejects(svc.computers.getOrCreate({ name, ...SMALL }), refusedAs("invalid_name", 400), name)
  }
  const { id } = await svc.computers.create({ name: "a".repeat(63), ...SMALL })
  await assert.rejects(svc.computers.create({ name: "a".repeat(63), ...SMALL }), refusedAs("name_taken", 409))
  const wide = p.as((await p.key("acme", SCOPES, { project_id: null })).secret)
  assert.notEqual((await wide.computers.create({ name: "a".repeat(63), ...SMALL })).id, id)
  for (const wrong of [{ vcpus: 8.25 }, { memory_mb: 127 }, { memory_mb: 16_385 }, { disk_gb: 101 }]) {
    await assert.rejects(
      svc.computers.create({ name: "b", ...SMALL, ...wrong }),
      refusedAs("invalid_resource_shape", 400),
    )
  }
  const strong = { name: "b", ...SMALL, isolation: "microvm" } as const
  const tooStrong = refusedAs("isolation_tier_unavailable", 501)
  await assert.rejects(svc.computers.create(strong), tooStrong)
  await assert.rejects(svc.computers.getOrCreate(strong), tooStrong)
  const { computers, total } = await svc.computers.list()
  assert.deepEqual([computers.map(computer => computer.id), total], [[id], 1])
})

test("fifty who ask for one name at once get one machine, and one of them made it", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => svc.request("computers.getOrCreate", { name: "shared", ...SMALL })),
  )
  assert.equal(new Set(replies.map(({ data }) => data.id)).size, 1)
  assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array(49).fill(200), 201])
  const again = await svc.request("computers.getOrCreate", { name: "shared", vcpus: 2, memory_mb: 2048 })
  assert.deepEqual([again.status, again.data.vcpus], [200, 0.5])
  assert.equal((await svc.computers.list()).total, 1)
})

test("a body may repeat the name of its path, and no other", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", SCOPES)
  const put = (path: string, name: string) =>
    p.request(`/v1/computers/by-name/${path}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ name, ...SMALL }),
    })
  assert.equal((await put("web-1", "web-1")).status, 201)
  const other = await put("web-1", "web-2")
  assert.deepEqual(
    [other.status, ((await other.json()) as { code: string }).code],
    [400, "validation_failed"],
  )
})

test("files are read as base64 and written anywhere on the machine, with mode and owner", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  const id = await runningComputer(svc, "files")
  const bytes = Buffer.from([0, 255, 10, 13])
  await svc.computers.writeFiles({
    id,
    files: [
      { path: "/home/user/a.bin", content: bytes.toString("base64"), encoding: "base64", mode: "0600" },
      { path: "/etc/motd", content: "Welcome", owner: "root" },
    ],
  })
  const read = await svc.computers.readFile({ id, path: "/home/user/a.bin" })
  assert.deepEqual(
    [read.content, read.encoding, read.size, read.mode, read.path],
    [bytes.toString("base64"), "base64", 4, "0600", "/home/user/a.bin"],
  )
  assert.equal(await run(svc, id, "stat -c %U /etc/motd ~/a.bin"), "root\nuser\n")
  await assert.rejects(svc.computers.readFile({ id }), refusedAs("path_required", 400))
  await assert.rejects(svc.computers.readFile({ id, path: "a" }), refusedAs("invalid_parameter", 400))
  await assert.rejects(svc.computers.readFile({ id, path: "/no/such" }), refusedAs("file_not_found", 404))
  for (const count of [0, 65]) {
    const files = Array.from({ length: count }, (_, n) => ({ path: `/tmp/${n}`, content: "" }))
    await assert.rejects(svc.computers.writeFiles({ id, files }), refusedAs("too_many_files", 400))
  }
  await assert.rejects(svc.computers.writeFiles({ id }), refusedAs("too_many_files", 400))
  await run(svc, id, "head -c 20000000 /dev/zero > ~/large")
  await assert.rejects(
    svc.computers.readFile({ id, path: "/home/user/large" }),
    refusedAs("invalid_parameter", 400),
  )
})

test("a machine has the keys of its record at once when it runs, and at its start when it does not", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SCOPES)
  const [first, second] = [ed25519Key("first"), ed25519Key("second")]
  const id = await runningComputer(svc, "keys", { ssh_keys: [first] })
  const both = async () => [
    await run(svc, id, "cat ~/.ssh/authorized_keys; stat -c %a ~/.ssh/authorized_keys"),
    await run(svc, id, "cat /root/.ssh/authorized_keys; stat -c %a /root/.ssh/authorized_keys", "root"),
  ]
  assert.deepEqual(await both(), Array(2).fill(`${first}\n600\n`))
  const changed = await svc.computers.setSshKeys({ id, ssh_keys: [second] })
  assert.deepEqual(changed.ssh_keys, [second])
  assert.deepEqual(await both(), Array(2).fill(`${second}\n600\n`))

  await svc.computers.stop({ id })
  await svc.computers.setSshKeys({ id, ssh_keys: [first, second] })
  await svc.computers.start({ id })
  assert.deepEqual(await both(), Array(2).fill(`${first}\n${second}\n600\n`))
  await svc.computers.setSshKeys({ id, ssh_keys: [] })
  assert.deepEqual(await both(), Array(2).fill("600\n"))

  await assert.rejects(
    svc.computers.setSshKeys({ id, ssh_keys: ["nonsense"] }),
    refusedAs("invalid_ssh_key", 400),
  )
  const many = Array.from({ length: 33 }, (_, n) => ed25519Key(`k${n}`))
  await assert.rejects(svc.computers.setSshKeys({ id, ssh_keys: many }), refusedAs("too_many_keys", 400))

  await run(svc, id, "rm -rf ~/.ssh && echo no folder > ~/.ssh")
  await assert.rejects(
    svc.computers.setSshKeys({ id, ssh_keys: [first] }),
    refusedAs("ssh_keys_not_delivered", 502),
  )
  assert.deepEqual((await svc.computers.get({ id })).ssh_keys, [])
  assert.equal(await run(svc, id, "cat /root/.ssh/authorized_keys", "root"), "")
})

test("a host that is full makes no machine by its name either", async t => {
  const p = await platform(t, { env: { SVC_WORKLOADS_MAX: "1" } })
  const svc = await p.client("acme", ...SCOPES)
  await runningComputer(svc, "one")
  const full = refusedAs("no_host_capacity", 503)
  await assert.rejects(svc.computers.getOrCreate({ name: "two", ...SMALL }), full)
  assert.equal((await svc.computers.list()).total, 1)
})
