/** `svc login` with a person's consent, against a whole platform. */
import assert from "node:assert/strict"
import { chmod, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { decide, openRequest, submit } from "../../server/src/areas/oauth/testing/browser.ts"
import { eventually } from "../../server/src/testing/eventually.ts"
import { platform } from "../../server/src/testing/platform.ts"
import { readSignIn, writeSignIn } from "./sign-ins.ts"
import { bin, openShell, runProgram } from "./testing/command.ts"

const onLinux = { skip: process.platform === "linux" ? false : "the system's keychain is used here" }

test(
  "login opens the browser, keeps tokens that later commands renew, and logout ends the connection",
  onLinux,
  async t => {
    const p = await platform(t)
    const session = await p.session("acme")
    const url = p.config.baseUrl
    const { home, run, env } = await openShell(t, url, "")
    // Stands for a browser: notes the address that it is to open.
    const opened = join(home, "opened")
    const browser = join(home, "browser")
    await writeFile(browser, `#!/bin/sh\nprintf '%s' "$1" > "${opened}"\n`)
    await chmod(browser, 0o755)

    const args = ["login", "--browser", "--scope", "kv:read kv:write"]
    const running = runProgram(process.execPath, [bin, ...args], { ...env, BROWSER: browser }, "")
    const page = await eventually("the browser is opened", async () => {
      const text = await readFile(opened, "utf8").catch(() => "")
      return text === "" ? undefined : text
    })
    const { location } = await decide(p, await openRequest(page), session)
    assert.match(await (await fetch(location)).text(), /close this page/)
    const { code, err } = await running
    assert.equal(code, 0, err)
    assert.match(err, /knows you as Svc CLI of acme/)

    const credentials = join(home, "svc", "credentials.json")
    const kept = async () => readSignIn(JSON.parse(await readFile(credentials, "utf8"))[url])
    const first = await kept()
    assert.ok(first?.refresh_token)
    assert.equal((await run(["kv", "set", "greeting", "hello"])).code, 0)

    await writeFile(
      credentials,
      JSON.stringify({ [url]: writeSignIn({ ...first, ends_at: Date.now() + 1000 }) }),
    )
    assert.match((await run(["kv", "get", "greeting", "--json"])).out, /hello/)
    const second = await kept()
    assert.notEqual(second?.access_token, first.access_token)

    assert.match((await run(["logout"])).err, /^forgot the key/)
    const owner = p.as("", { headers: session })
    assert.equal((await owner.connectedApps.list()).total, 0)

    await writeFile(credentials, JSON.stringify({ [url]: writeSignIn({ ...first, ends_at: 0 }) }))
    const ended = await run(["whoami"])
    assert.deepEqual([ended.code, /run svc login/.test(ended.err)], [2, true])
  },
)

test("login without a browser shows a code and waits until it is entered elsewhere", onLinux, async t => {
  const p = await platform(t)
  const { run } = await openShell(t, p.config.baseUrl, "")
  const running = run(["login", "--device"])
  const { user_code } = await eventually("the device has its code", () =>
    p.database.db.selectFrom("oauth.authorizations").select("user_code").executeTakeFirst(),
  )
  const found = await submit(p, "/oauth/device", { user_code: user_code ?? "" })
  await decide(p, found.headers.get("location") ?? "", await p.session("acme"))
  const { code, err } = await running
  assert.equal(code, 0, err)
  assert.match(err, /enter the code [B-Z]{4}-[B-Z]{4}/)
  assert.equal((await run(["whoami"])).code, 0)
})

test("a person who refuses is told so, and nothing is kept", onLinux, async t => {
  const p = await platform(t)
  const session = await p.session("acme")
  const { home, env } = await openShell(t, p.config.baseUrl, "")
  const opened = join(home, "opened")
  const browser = join(home, "browser")
  await writeFile(browser, `#!/bin/sh\nprintf '%s' "$1" > "${opened}"\n`)
  await chmod(browser, 0o755)
  const running = runProgram(process.execPath, [bin, "login", "--browser"], { ...env, BROWSER: browser }, "")
  const page = await eventually("the browser is opened", async () => {
    const text = await readFile(opened, "utf8").catch(() => "")
    return text === "" ? undefined : text
  })
  const { location } = await decide(p, await openRequest(page), session, { action: "deny" })
  await (await fetch(location)).text()
  const { code, err } = await running
  assert.deepEqual([code, /access_denied/.test(err)], [2, true])
})
