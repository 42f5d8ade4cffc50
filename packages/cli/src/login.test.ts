import assert from "node:assert/strict"
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { openEndpoint, type Received } from "@svc/sdk/testing"
import { macosKeychain } from "./keychains.ts"
import { openFolder, openShell } from "./testing/command.ts"

const KEY = "svc_pat_3Zq9mVexampleexampleexample"

const answerTo = ({ headers }: Received) =>
  headers.authorization === `Bearer ${KEY}`
    ? { body: { data: { key: { name: "laptop" }, organization: { name: "Acme" }, scopes: [] } } }
    : {
        status: 401,
        body: { code: "invalid_key", error: "key not accepted", docs_url: "http://d", request_id: "r" },
      }

const open = async (t: Parameters<typeof openEndpoint>[0]) => {
  const { url } = await openEndpoint(t, answerTo)
  const shell = await openShell(t, "", "")
  const config = join(shell.home, "svc", "config.json")
  const credentials = join(shell.home, "svc", "credentials.json")
  return { ...shell, url, config, credentials }
}

const onLinux = { skip: process.platform === "linux" ? false : "the system's keychain is used here" }

test(
  "login keeps a key that the platform accepts in an owner-only file, and the address beside it",
  onLinux,
  async t => {
    const { run, url, home, config, credentials } = await open(t)

    const { code, out, err } = await run(["login", "--url", `${url}/`], { input: `${KEY}\n` })

    assert.equal(code, 0, err)
    assert.match(err, /knows you as laptop of Acme/)
    assert.ok(!(out + err).includes(KEY), "the key is printed")
    assert.deepEqual(JSON.parse(await readFile(credentials, "utf8")), { [url]: KEY })
    assert.equal((await stat(credentials)).mode & 0o777, 0o600)
    assert.equal((await stat(join(home, "svc"))).mode & 0o777, 0o700)
    assert.deepEqual(JSON.parse(await readFile(config, "utf8")), { url })
    assert.deepEqual((await readdir(join(home, "svc"))).sort(), ["config.json", "credentials.json"])
  },
)

test("after login commands need neither address nor key", onLinux, async t => {
  const { run, url } = await open(t)
  await run(["login", "--url", url], { input: KEY })

  const { code, out, err } = await run(["whoami"])

  assert.equal(code, 0, err)
  assert.match(out, /key\.name +laptop/)
  assert.ok(!(out + err).includes(KEY), "the key is printed")
})

test("a key is never sent to another address than the one it was given for", onLinux, async t => {
  const { run, url } = await open(t)
  const other = await openEndpoint(t, () => ({ body: { data: {} } }))
  await run(["login", "--url", url], { input: KEY })

  const { code } = await run(["whoami", "--url", other.url])

  assert.equal(code, 2)
  assert.equal(other.received.length, 0)
})

test("a key that the platform refuses is not kept", async t => {
  const { run, url, home } = await open(t)

  const { code, err } = await run(["login", "--url", url], { input: "svc_pat_wrong" })

  assert.equal(code, 1)
  assert.match(err, /key not accepted \(invalid_key\)/)
  assert.ok(!err.includes("svc_pat_wrong"), "the key is printed")
  assert.deepEqual(await readdir(home), [])
})

test("a key given as a word is refused, because everybody on the machine could read it", async t => {
  const { run } = await open(t)
  const { code, err } = await run(["login", KEY])
  assert.equal(code, 2)
  assert.ok(!err.includes(KEY), "the key is printed")
})

test("logout forgets the key", onLinux, async t => {
  const { run, url, credentials } = await open(t)
  await run(["login", "--url", url], { input: KEY })

  assert.match((await run(["logout"])).err, /^forgot the key/)

  assert.ok(!(await readFile(credentials, "utf8")).includes(KEY))
  assert.match((await run(["logout"])).err, /^there is no key/)
  assert.equal((await run(["whoami"])).code, 2)
})

test("a credentials file that others can read is refused", onLinux, async t => {
  const { run, url, credentials } = await open(t)
  await run(["login", "--url", url], { input: KEY })
  await chmod(credentials, 0o644)

  const { code, err } = await run(["whoami"])

  assert.equal(code, 2)
  assert.match(err, /chmod 600/)
})

test("SVC_TOKEN takes precedence over the kept key", onLinux, async t => {
  const { run, url } = await open(t)
  await run(["login", "--url", url], { input: KEY })
  assert.equal((await run(["whoami"], { env: { SVC_TOKEN: "svc_pat_other" } })).code, 1)
})

test("on macOS the key reaches the keychain by standard input and never as an argument", onLinux, async t => {
  const folder = await openFolder(t)
  // Stands for the system's program: notes its arguments and its input, and finds what it was asked for.
  const program = `#!/bin/sh
printf '%s\\n' "$*" >> "${folder}/arguments"
if [ "$1" = -i ]; then cat > "${folder}/input"; else echo kept-key; fi
`
  await writeFile(join(folder, "security"), program)
  await chmod(join(folder, "security"), 0o755)
  const keychain = macosKeychain({ PATH: `${folder}:${process.env.PATH}` })

  await keychain.save("http://127.0.0.1:4800", KEY)
  assert.equal(await keychain.find("http://127.0.0.1:4800"), "kept-key")
  assert.equal(await keychain.remove("http://127.0.0.1:4800"), true)
  await assert.rejects(keychain.save("http://127.0.0.1:4800", 'a"b'), { name: "UsageError" })

  assert.ok(!(await readFile(join(folder, "arguments"), "utf8")).includes(KEY))
  assert.equal(
    await readFile(join(folder, "input"), "utf8"),
    `add-generic-password -U -s svc -a "http://127.0.0.1:4800" -w "${KEY}"\n`,
  )
})
