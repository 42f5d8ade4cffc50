import assert from "node:assert/strict"
import { access } from "node:fs/promises"
import { test } from "node:test"
import { type Act, openEndpoint } from "@svc/sdk/testing"
import { bin, openShell, runProgram } from "./testing/command.ts"

const found = { value: { text: "hello" }, version: 3, ttl_seconds: null }
const refusal = {
  code: "kv_key_too_large",
  error: "the key is too large",
  docs_url: "http://localhost/docs/errors/kv_key_too_large",
  request_id: "req-1",
}

const open = async (t: Parameters<typeof openEndpoint>[0], act: () => Act) => {
  const endpoint = await openEndpoint(t, act)
  return { ...endpoint, ...(await openShell(t, endpoint.url)) }
}

test("a command sends its fields with the key and shows the reply", async t => {
  const { run, received } = await open(t, () => ({ body: found }))

  const { code, out, err } = await run(["kv", "get", "greeting", "--project", "p1"])

  assert.deepEqual({ code, err }, { code: 0, err: "" })
  assert.equal(out, "value.text   hello\nversion      3\nttl_seconds\n")
  assert.equal(received[0]?.path, "/v1/kv/get")
  assert.equal(received[0]?.body, '{"key":"greeting"}')
  assert.equal(received[0]?.headers.authorization, "Bearer svc_sk_test")
  assert.equal(received[0]?.headers["x-svc-project"], "p1")
})

test("--json prints the payload and nothing else", async t => {
  const { run } = await open(t, () => ({ body: found }))
  const { out, err } = await run(["kv", "get", "greeting", "--json"])
  assert.deepEqual(JSON.parse(out), found)
  assert.equal(err, "")
})

test("the whole input can come as JSON, by argument or standard input, and flags add to it", async t => {
  const { run, received } = await open(t, () => ({ body: { ok: true, version: 1, expires_at: null } }))

  await run(["kv", "set", "--data", '{"key":"a","value":1}', "--nx"])
  await run(["kv", "set", "--data", "-"], { input: '{"key":"b","value":[2]}' })
  const { code, err } = await run(["kv", "set", "--data", "[1]"])

  assert.deepEqual(
    received.map(({ body }) => JSON.parse(body)),
    [
      { key: "a", value: 1, nx: true },
      { key: "b", value: [2] },
    ],
  )
  assert.equal(code, 2)
  assert.match(err, /^svc: --data must be a JSON object\nsee: svc help kv set\n$/)
})

test("a refusal of the platform is told whole on the error output, with exit code 1", async t => {
  const { run } = await open(t, () => ({ status: 400, body: refusal }))

  const plain = await run(["kv", "get", "a"])
  assert.deepEqual(plain, {
    code: 1,
    out: "",
    err: [
      "svc: the key is too large (kv_key_too_large)",
      "  request id  req-1",
      "  docs        http://localhost/docs/errors/kv_key_too_large",
      "",
    ].join("\n"),
  })

  const json = await run(["kv", "get", "a", "--json"])
  assert.equal(json.code, 1)
  assert.deepEqual(JSON.parse(json.err), refusal)
})

test("what PostgreSQL says of a refused statement is shown", async t => {
  const details = { sqlstate: "42703", position: 8, hint: "Perhaps you meant n.", detail: null }
  const body = { ...refusal, code: "invalid_sql", details }
  const { run } = await open(t, () => ({ status: 400, body }))
  const { err } = await run(["sql", "execute", "SELECT m"])
  assert.match(err, /^ {2}sqlstate: 42703\n {2}position: 8\n {2}hint: Perhaps you meant n\.\n {2}request id/m)
  assert.deepEqual(JSON.parse((await run(["sql", "execute", "SELECT m", "--json"])).err), body)
})

test("the fields at fault are named", async t => {
  const errors = [{ location: "body.key", message: "must be a string" }]
  const { run } = await open(t, () => ({
    status: 400,
    body: { ...refusal, code: "validation_failed", errors },
  }))
  assert.match((await run(["kv", "get", "a"])).err, /^ {2}body\.key: must be a string$/m)
})

test("a platform that cannot be reached is exit code 3", async t => {
  const { run } = await openShell(t, "http://127.0.0.1:1")
  const { code, err } = await run(["kv", "get", "a"])
  assert.equal(code, 3)
  assert.match(err, /^svc: cannot reach http:\/\/127\.0\.0\.1:1: .*\(network_error\)/)
})

test("an operation that waits for a person is exit code 4 and names the approval", async t => {
  const approval = { id: "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10", status: "pending" }
  const { run } = await open(t, () => ({
    status: 202,
    body: { data: { status: "pending_approval", approval } },
  }))
  const { code, out, err } = await run(["kv", "set", "a", "b"])
  assert.deepEqual({ code, out }, { code: 4, out: "" })
  assert.match(err, /svc approvals get 01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10/)
})

test("nothing is destroyed without a person's yes or --yes", async t => {
  const { run, received } = await open(t, () => ({ body: { deleted: 1 } }))

  const refused = await run(["kv", "del", "a"], { input: "y\n" })
  assert.equal(refused.code, 2)
  assert.match(refused.err, /--yes/)
  assert.equal(received.length, 0)

  assert.equal((await run(["kv", "del", "a", "--yes"])).code, 0)
  assert.equal(received.length, 1)
})

test("on a terminal the person is asked, and only a yes destroys", async t => {
  const script = "/usr/bin/script"
  if (
    !(await access(script).then(
      () => true,
      () => false,
    ))
  )
    return t.skip("needs the program script")
  const { env, received } = await open(t, () => ({ body: { deleted: 1 } }))
  const command = `"${process.execPath}" "${bin}" kv del a`
  const ask = (answer: string) =>
    runProgram(script, ["-qec", command, "/dev/null"], { ...env, SVC_TOKEN: "svc_sk_test" }, answer)

  const no = await ask("n\n")
  assert.match(no.out, /Delete one key or several\? \[y\/N\]/)
  assert.equal(no.code, 2)
  assert.equal(received.length, 0)

  assert.equal((await ask("y\n")).code, 0)
  assert.equal(received.length, 1)
})

test("a mistake in the command is exit code 2, sends nothing and says what was meant", async t => {
  const { run, received } = await open(t, () => ({ body: {} }))
  for (const [args, message] of [
    [["kv", "gett", "a"], /^svc: unknown operation: kv gett; did you mean get\?/],
    [["kvv"], /^svc: unknown command: kvv; did you mean kv\?/],
    [["mai"], /^svc: unknown command: mai; did you mean mail\?/],
    [["storage", "lss"], /^svc: unknown operation: storage lss; did you mean ls\?/],
    [["mail", "inbax"], /^svc: unknown operation: mail inbax; did you mean inbox\?/],
    [["db", "branch", "shop", "--at", "noon"], /^svc: not a time: noon\nsee: svc help db/],
    [["kv", "get"], /^svc: missing --key\nsee: svc help kv get/],
    [["kv", "get", "a", "--colour", "red"], /^svc: unknown flag --colour/],
    [["kv", "get", "a", "--url", "ftp://x"], /^svc: not an HTTP address/],
    [["kv", "get", "a", "--file", "x"], /^svc: this command sends no file/],
  ] as const) {
    const { code, out, err } = await run(args)
    assert.deepEqual({ code, out }, { code: 2, out: "" })
    assert.match(err, message)
  }
  assert.equal(received.length, 0)
})

test("without a key the command says how to get one", async t => {
  const { run, received } = await open(t, () => ({ body: {} }))
  const { code, err } = await run(["kv", "get", "a"], { env: { SVC_TOKEN: "" } })
  assert.equal(code, 2)
  assert.match(err, /svc login/)
  assert.equal(received.length, 0)
})

test("help needs neither platform nor key", async t => {
  const { run } = await openShell(t, "http://127.0.0.1:1", "")
  for (const [args, text] of [
    [[], /usage: svc <area>/],
    [["kv"], /set +Store a value under a key/],
    [["kv", "--help"], /Operations/],
    [["help", "kv", "set"], /--key <string> +required; .*\n.*\n +--ttl-seconds <number> +1 to/],
    [["kv", "set", "a", "--help"], /usage: svc kv set <key> <value> \[fields\]/],
    [["help", "keys", "rotate"], /svc keys rotate --id <id> --grace-period-seconds 3600/],
    [["help", "login"], /usage: svc login/],
    [["mail"], /usage: svc mail <command>\n\nCommands\n {2}mail inbox {2}Show/],
    [["help", "mail"], /mail inbox/],
    [["account", "list-sessions", "-h"], /GET \/v1\/account\/sessions/],
    [["--version"], /^\d+\.\d+\.\d+\n$/],
  ] as const) {
    const { code, out, err } = await run(args)
    assert.deepEqual({ code, err }, { code: 0, err: "" })
    assert.match(out, text)
  }
})

test("the command runs under whatever Node the shell has", async t => {
  const { env } = await openShell(t, "http://127.0.0.1:1")
  const { code, out } = await runProgram(bin, ["--version"], env, "")
  assert.equal(code, 0)
  assert.match(out, /^\d+\.\d+\.\d+\n$/)
})

test("completion is a script that bash accepts and that knows the contract", async t => {
  const { run, env } = await openShell(t, "http://127.0.0.1:1")
  const { out } = await run(["completion", "bash"])
  const ask = `${out}
COMP_WORDS=(svc kv s); COMP_CWORD=2; _svc; echo "$COMPREPLY"
COMP_WORDS=(svc kv set --ttl); COMP_CWORD=3; _svc; echo "$COMPREPLY"
COMP_WORDS=(svc stor); COMP_CWORD=1; _svc; echo "\${COMPREPLY[*]}"
COMP_WORDS=(svc cp); COMP_CWORD=1; _svc; echo "\${COMPREPLY[*]}"
COMP_WORDS=(svc storage c); COMP_CWORD=2; _svc; echo " \${COMPREPLY[*]} "
COMP_WORDS=(svc events pub); COMP_CWORD=2; _svc; echo "\${COMPREPLY[*]}"
COMP_WORDS=(svc mail ""); COMP_CWORD=2; _svc; echo "\${COMPREPLY[*]}"
COMP_WORDS=(svc db b); COMP_CWORD=2; _svc; echo "\${COMPREPLY[*]}"`
  const completed = await runProgram("bash", ["-s"], env, ask)
  const [first, second, third, misplaced, inStorage = "", ...others] = completed.out.split("\n")
  assert.deepEqual([completed.code, completed.err], [0, ""])
  assert.deepEqual([first, second, third, misplaced], ["set", "--ttl-seconds", "storage", ""])
  assert.match(inStorage, / cp /)
  assert.match(inStorage, / create-bucket /)
  assert.deepEqual(others, ["publish", "inbox", "branch", ""])
  assert.match((await run(["completion", "zsh"])).out, /^autoload -U \+X bashcompinit/)
  assert.equal((await run(["completion", "fish"])).code, 2)
})
