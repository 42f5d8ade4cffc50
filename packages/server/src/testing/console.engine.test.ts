/** The console in a real browser: every page, by hand and by keyboard, in both themes and narrow. */
import assert from "node:assert/strict"
import { accessSync, constants, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"
import { after, before, type TestContext, test } from "node:test"
import { allAreas, allOperations } from "@svc/contract"
import { type Browser, chromium, type Page } from "playwright-core"
import { platform } from "./platform.ts"

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const executablePath =
  process.env.SVC_TEST_CHROMIUM ??
  (process.env.PATH ?? "")
    .split(delimiter)
    .map(folder => join(folder, "chromium"))
    .find(isProgram)

const skip = executablePath === undefined ? "chromium is missing" : false

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

let browser: Browser | undefined

before(async () => {
  if (executablePath === undefined) return
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] })
})

after(() => browser?.close())

/** A platform, and a page of its console on which nothing may go wrong unseen. */
const open = async (t: TestContext) => {
  const { url, firstRun, ...svc } = await platform(t)
  if (!firstRun) throw new Error("the database is not new")
  if (!browser) throw new Error("chromium is missing")
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  t.after(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on("pageerror", error => problems.push(error.message))
  page.on("console", message => {
    // Refusals are replies, and the page shows them.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(message.text())
  })
  return { ...svc, url, firstRun, page, problems }
}

const signIn = async (
  page: Page,
  { email, password }: { readonly email: string; readonly password: string },
) => {
  await page.getByLabel("E-mail").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
}

/** Findings of axe, a line each. */
const findings = async (page: Page, name: string): Promise<string[]> => {
  await page.evaluate(`${axe}; 0`)
  return (await page.evaluate(`axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }).then(({ violations }) => violations.map(({ id, nodes }) => ${JSON.stringify(name)} + ": " + id + " " + nodes[0].html.slice(0, 200)))`)) as string[]
}

/** Goes there as a link of the page does. */
const go = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
  )

test("every operation's page opens with its title and its form, and nothing goes wrong on it", {
  skip,
}, async t => {
  const { url, firstRun, page, problems } = await open(t)
  await page.goto(`${url}/console`)
  await signIn(page, firstRun)
  for (const { id, method, path } of allOperations) {
    await go(page, `/console/api/${id}`)
    await page.locator("main .path", { hasText: `${method} ${path}` }).waitFor()
    await page.locator("main form").waitFor({ state: "attached" })
    assert.notEqual(await page.title(), "Not found · Svc", id)
    assert.deepEqual(problems, [], id)
  }
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
