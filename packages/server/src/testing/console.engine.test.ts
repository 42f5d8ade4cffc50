/** The console in a real browser: every page, by hand and by keyboard, in both themes and narrow. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { allAreas, allOperations } from "@svc/contract"
import { findings, go, open, signIn, skip } from "./console-browser.ts"

test("every operation's page opens with its title and its form, and nothing goes wrong on it", {
  skip,
}, async t => {
  const { url, firstRun, page, problems } = await open(t)
  await page.goto(`${url}/console`)
  await signIn(page, firstRun)
  // In the page itself: a round trip to the browser for each step would take most of the time.
  const missing = await page.evaluate(`(async () => {
    const missing = []
    for (const [id, line] of ${JSON.stringify(allOperations.map(({ id, method, path }) => [id, `${method} ${path}`]))}) {
      history.pushState(null, "", "/console/api/" + id)
      dispatchEvent(new PopStateEvent("popstate"))
      const isThere = () =>
        document.querySelector("main .path")?.textContent.startsWith(line) &&
        document.querySelector("main form") !== null && !document.title.startsWith("Not found")
      const end = performance.now() + 5000
      while (!isThere() && performance.now() < end) await new Promise(resolve => setTimeout(resolve, 5))
      if (!isThere()) missing.push(id)
    }
    return missing
  })()`)
  assert.deepEqual(missing, [])
  assert.deepEqual(problems, [])
})

const SHOWN = [
  "listProjects",
  "listKeys",
  "registerWebhook",
  "kvSet",
  "executeSql",
  "createKey",
  "listScopes",
  "authSignup",
]

test("no page has a finding of axe: light, dark and as wide as a telephone", { skip }, async t => {
  const { url, firstRun, page, problems } = await open(t)
  await page.goto(`${url}/console`)
  await page.getByLabel("E-mail").waitFor()
  assert.deepEqual(await findings(page, "sign-in"), [])
  await signIn(page, firstRun)
  const paths = [
    "",
    ...allAreas.map(({ name }) => `areas/${name}`),
    ...SHOWN.map(id => `api/${id}`),
    "no/such/page",
  ]
  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize({ width, height: 844 })
    for (const path of paths) {
      await go(page, `/console/${path}`)
      await page.locator("main h1").waitFor()
      await page.locator(".soft", { hasText: "Loading …" }).waitFor({ state: "detached" })
      assert.deepEqual(await findings(page, `${theme} ${width} ${path}`), [])
      const overflow = (await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number
      assert.ok(overflow <= 0, `${path} is ${overflow} pixels too wide at ${width}`)
    }
  }
  assert.deepEqual(problems, [])
})

test("by keyboard alone: the palette finds an operation, its form is filled in and sent, the value is stored", {
  skip,
}, async t => {
  const { url, firstRun, page, problems, as } = await open(t)
  await page.goto(`${url}/console`)
  await signIn(page, firstRun)
  await page.keyboard.press("Control+k")
  await page.getByRole("combobox", { name: "Find" }).waitFor()
  await page.keyboard.type("kvSet")
  await page.locator(".palette [role=option]").first().waitFor()
  await page.keyboard.press("Enter")
  await page.locator("main .path", { hasText: "/v1/kv/set" }).waitFor()
  await page.getByLabel("Key required").focus()
  await page.keyboard.type("<img src=x onerror=alert(1)>")
  await page.getByLabel(/^Value/).focus()
  await page.keyboard.type('{"text": 12345678901234567890}')
  await page.locator("main form [type=submit]").focus()
  await page.keyboard.press("Enter")
  await page.locator(".outcome .status.good").waitFor()
  const stored = await as(firstRun.api_key).kv.get({ key: "<img src=x onerror=alert(1)>" })
  assert.match(
    JSON.stringify(stored, (_, value) => (typeof value === "bigint" ? String(value) : value)),
    /12345678901234567890/,
  )
  await page.keyboard.press("Escape")
  await page.locator("h1").click()
  await page.keyboard.press("`")
  await page.locator(".drawer code", { hasText: "/v1/kv/set" }).first().waitFor()
  assert.deepEqual(problems, [])
})

test("a session that ends asks for the password above the page, and what was typed is sent then", {
  skip,
}, async t => {
  const { url, firstRun, page, database, problems } = await open(t)
  await page.goto(`${url}/console`)
  await signIn(page, firstRun)
  await go(page, "/console/api/kvSet")
  await page.getByLabel("Key required").fill("kept")
  await page.getByLabel(/^Value/).fill("1")
  await database.pool.query("DELETE FROM core.sessions")
  await page.locator("main form [type=submit]").click()
  const dialog = page.getByRole("dialog", { name: "Sign in again" })
  await dialog.getByLabel("Password").fill(firstRun.password)
  await page.keyboard.press("Enter")
  await page.locator(".outcome .status.good").waitFor()
  assert.deepEqual(problems, [])
})

test("signing out ends the session at the platform and shows the sign-in page", { skip }, async t => {
  const { url, firstRun, page } = await open(t)
  await page.goto(`${url}/console`)
  await signIn(page, firstRun)
  const [cookie] = await page.context().cookies()
  assert.ok(cookie?.httpOnly)
  await page.locator(".person summary").click()
  await page.getByRole("button", { name: "Sign out" }).click()
  await page.getByLabel("E-mail").waitFor()
  const ended = await fetch(`${url}/v1/me`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } })
  assert.equal(ended.status, 401)
})

test("the link of the first start asks for a password, signs in with it, and then only says that it was used", {
  skip,
}, async t => {
  const { url, firstRun, page, problems } = await open(t)
  const path = firstRun.sign_in_url.slice(firstRun.base_url.length)
  await page.goto(`${url}${path}`)
  await page.getByRole("heading", { name: "Choose your password" }).waitFor()
  // The secret is gone from the address before anybody copies it.
  assert.equal(new URL(page.url()).hash, "")
  assert.deepEqual(await findings(page, "first"), [])
  await page.getByLabel("New password").fill("correct horse battery")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  assert.equal(new URL(page.url()).pathname, "/console")

  await page.goto("about:blank")
  await page.goto(`${url}${path}`)
  await page.getByLabel("New password").fill("another horse battery")
  await page.keyboard.press("Enter")
  await page.getByRole("alert").filter({ hasText: "This link was used" }).waitFor()
  await page.getByRole("link", { name: "Sign in with a password instead" }).waitFor()
  assert.deepEqual(problems, [])
})
