/** What sandboxes promise to their callers. */
import assert from "node:assert/strict"
import { test } from "node:test"
import pg from "pg"
import { platform } from "../../testing/platform.ts"
import { eventually, refusedAs, runningSandbox, SANDBOX_SCOPES, SMALL } from "./testing/sandboxes.ts"

test("a sandbox is made, takes commands at once, and is gone when it is deleted", async t => {
  const p = await platform(t)
  const { sandboxes } = await p.client("acme", ...SANDBOX_SCOPES)

  const made = await sandboxes.create({
    ...SMALL,
    name: "trial",
    labels: { team: "a" },
    env: { COLOR: "red" },
  })
  assert.deepEqual(
    [made.kind, made.status, made.name, made.labels, made.env_names],
    ["ephemeral", "PROVISIONING", "trial", { team: "a" }, ["COLOR"]],
  )
  const ran = await sandboxes.runCommand({
    id: made.id,
    command: "pwd; id -un; echo $COLOR; echo no >&2; exit 3",
  })
  assert.deepEqual(
    [ran.exit_code, ran.stdout, ran.stderr, ran.timed_out, ran.truncated, ran.signal],
    [3, "/workspace\nuser\nred\n", "no\n", false, false, null],
  )
  const got = await sandboxes.get({ id: made.id })
  assert.deepEqual([got.status, got.cold_start, got.isolation], ["RUNNING", true, "process"])
  assert.equal(Date.parse(got.expires_at ?? "") - Date.parse(got.started_at ?? ""), 300_000)
  assert.ok(Number(got.provision_ms) >= 0)
  const { sandboxes: listed, total } = await sandboxes.list()
  assert.deepEqual([listed.map(({ id }) => id), total], [[made.id], 1])

  assert.equal(await sandboxes.delete({ id: made.id }), undefined)
  await assert.rejects(sandboxes.get({ id: made.id }), refusedAs("sandbox_not_found", 404))
  await assert.rejects(
    sandboxes.runCommand({ id: made.id, command: "true" }),
    refusedAs("sandbox_not_found", 404),
  )
})

test("whoever has used a sandbox finds it running, however late its start comes on record", async t => {
  const p = await platform(t, { env: { SVC_SANDBOX_POOL: "0" } })
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const keeper = new pg.Client({ connectionString: p.database.pool.options.connectionString })
  await keeper.connect()
  try {
    const { id } = await svc.sandboxes.create(SMALL)
    await keeper.query("BEGIN")
    await keeper.query("SELECT FROM sandboxes.sandboxes WHERE id = $1 FOR UPDATE", [id])
    const facts = async () => {
      const { services } = await svc.identity.services()
      return services.find(({ name }) => name === "sandboxes")?.capabilities
    }
    await eventually("it runs", facts, found => found?.running === 1)
    const used = svc.sandboxes.runCommand({ id, command: "true" })
    const seen = used.then(() => svc.sandboxes.get({ id })).then(({ status }) => status)
    // Long enough for a command that waits for nothing.
    for (let asked = 0; asked < 30; asked++) await Promise.race([seen, facts()])
    await keeper.query("COMMIT")
    assert.equal(await seen, "RUNNING")
  } finally {
    await keeper.end()
  }
})

test("a command is an argument vector unless it is one string, and gets what it is given", async t => {
  const p = await platform(t)
  const { sandboxes } = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(await p.client("acme", ...SANDBOX_SCOPES), { env: { A: "1", B: "2" } })
  const run = async (input: Omit<Parameters<typeof sandboxes.runCommand>[0], "id">) =>
    await sandboxes.runCommand({ id, ...input })

  assert.equal((await run({ command: ["printf", "%s|", "$A", "b c"] })).stdout, "$A|b c|")
  assert.equal((await run({ command: "printf", args: ["%s", "$(id)"] })).stdout, "$(id)")
  assert.equal((await run({ command: "cat", stdin: "über\n" })).stdout, "über\n")
  assert.equal((await run({ command: "cat" })).stdout, "")
  assert.equal((await run({ command: "echo $A$B", env: { B: "3" } })).stdout, "13\n")
  assert.equal((await run({ command: "pwd", cwd: "/tmp" })).stdout, "/tmp\n")
  assert.equal((await run({ command: "id -u", user: "root" })).stdout, "0\n")
  const killed = await run({ command: "kill -TERM $$" })
  assert.deepEqual([killed.exit_code, killed.signal], [143, "SIGTERM"])
  for (const wrong of [
    { command: ["/no/such/program"] },
    { command: "true", cwd: "/no/such/folder" },
    { command: "true", env: { "NOT A NAME": "x" } },
  ]) {
    await assert.rejects(run(wrong), refusedAs("invalid_parameter", 400))
  }
})

test("a command past its timeout is killed with all it started, and the sandbox goes on", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)

  const ran = await svc.sandboxes.runCommand({
    id,
    command: "trap '' TERM; echo begun; sleep 1000 & sleep 1000; wait",
    // Enough for its first word on any machine.
    timeout_seconds: 10,
  })
  assert.deepEqual([ran.exit_code, ran.timed_out, ran.stdout], [124, true, "begun\n"])
  await eventually(
    "nothing of the command runs",
    () => svc.sandboxes.runCommand({ id, command: "grep -l ^sleep /proc/[0-9]*/comm" }),
    ({ exit_code }) => exit_code !== 0,
  )
})

test("what is left in the background goes on, and does not hold the answer up", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const ran = await svc.sandboxes.runCommand({ id, command: "sleep 1000 & echo done" })
  assert.deepEqual([ran.exit_code, ran.stdout], [0, "done\n"])
  // Its shell may have ended before it was a sleep at all.
  await eventually(
    "it goes on",
    () => svc.sandboxes.runCommand({ id, command: "grep -l ^sleep /proc/[0-9]*/comm" }),
    ({ exit_code }) => exit_code === 0,
  )
})

test("each output is answered up to 1 MiB, and a flood beyond is dropped and said to be", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const ran = await svc.sandboxes.runCommand({
    id,
    command: "head -c 40000000 /dev/zero | tr '\\0' x; echo end >&2",
  })
  assert.deepEqual([ran.exit_code, ran.truncated, ran.stdout.length, ran.stderr], [0, true, 2 ** 20, "end\n"])
})
