/** The console in Chromium, for tests. */
import assert from "node:assert/strict"
import { accessSync, constants, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"
import { after, before, type TestContext } from "node:test"
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

export const skip = executablePath === undefined ? "chromium is missing" : false

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

let browser: Browser | undefined

before(async () => {
  if (executablePath === undefined) return
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] })
})

after(() => browser?.close())

/** A platform, and a page of its console on which nothing may go wrong unseen. */
export const open = async (t: TestContext) => {
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

export const signIn = async (
  page: Page,
  { email, password }: { readonly email: string; readonly password: string },
) => {
  await page.getByLabel("E-mail").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
}

/** Findings of axe, a line each. */
export const findings = async (page: Page, name: string): Promise<string[]> => {
  await page.evaluate(`${axe}; 0`)
  return (await page.evaluate(`axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }).then(({ violations }) => violations.map(({ id, nodes }) => ${JSON.stringify(name)} + ": " + id + " " + nodes[0].html.slice(0, 200)))`)) as string[]
}

/** Goes there as a link of the page does. */
export const go = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
  )

const VARIANTS = [
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
] as const

/** Looks at the page light, dark and as wide as a telephone. */
export const lookAt = async (page: Page, name: string): Promise<void> => {
  for (const [theme, width] of VARIANTS) {
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize({ width, height: 844 })
    assert.deepEqual(await findings(page, `${theme} ${width} ${name}`), [])
    const overflow = (await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number
    assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide at ${width}`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}
