/**
 * Pictures of the console: a server of its own with something in it, opened in Chromium.
 *   node tools/console-pictures.ts [--all] [--folder FOLDER] [NAME …]
 * Without `--all` it makes those of the README; with it each page light, dark and as wide as a telephone.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { chromium, type Page } from "playwright-core"
import { readConfig } from "../packages/server/src/config.ts"
import type { FirstRun } from "../packages/server/src/core/first-run.ts"
import { startPlatform } from "../packages/server/src/platform.ts"
import { fillConsole } from "../packages/server/src/testing/console-world.ts"
import { makeConsole } from "./console.ts"

const ROOT = resolve(import.meta.dirname, "..")

interface Picture {
  readonly name: string
  readonly path: string
  /** What somebody does there first. */
  readonly does?: (page: Page) => Promise<void>
  /** Theme in the README; a page that is not in it has none. */
  readonly readme?: "light" | "dark"
}

const PICTURES: readonly Picture[] = [
  { name: "overview", path: "", readme: "light" },
  {
    name: "sql",
    path: "sql",
    readme: "light",
    does: async page => {
      await page.locator(".sql-text .cm-content").click()
      await page.keyboard.press("ControlOrMeta+a")
      await page.keyboard.insertText(
        "SELECT product, count(*) AS orders, sum(amount) AS revenue\nFROM orders\nWHERE placed_at > now() - interval '30 days'\nGROUP BY product\nORDER BY revenue DESC;",
      )
      await page.getByRole("button", { name: /^Run/ }).first().click()
      await page.locator(".grid tbody tr").first().waitFor()
      await page.locator(".tree summary").first().click()
    },
  },
  {
    name: "tables",
    path: "tables?table=public.orders",
    readme: "dark",
    does: async page => {
      await page.getByRole("button", { name: "Open row 3", exact: true }).click()
      await page.locator(".panel").getByLabel("product").fill("Storm lantern")
      await page.getByRole("button", { name: "Stage", exact: true }).click()
      await page.getByRole("button", { name: "Open row 2", exact: true }).click()
    },
  },
  { name: "buckets", path: "files" },
  {
    name: "files",
    path: "files?bucket=pictures&key=lighthouse.svg",
    readme: "dark",
    does: async page => {
      await page.locator(".panel img").waitFor()
    },
  },
  {
    name: "mailbox",
    path: "mailbox",
    readme: "light",
    does: async page => {
      await page.locator(".mails a", { hasText: "Welcome" }).click()
      await page.frameLocator(".mail-frame").getByRole("heading").waitFor()
    },
  },
  {
    name: "keys",
    path: "keys?new=1",
    readme: "light",
    does: async page => {
      await page.getByRole("button", { name: /^An agent/ }).click()
    },
  },
  { name: "approvals", path: "approvals" },
  { name: "usage", path: "usage" },
  { name: "playground", path: "playground" },
]

const VARIANTS = [
  ["light", 1280, 800],
  ["dark", 1280, 800],
  ["light", 390, 844],
] as const

const signIn = async (page: Page, url: string, { email, password }: FirstRun) => {
  await page.goto(`${url}/console`)
  await page.getByLabel("E-mail").fill(email)
  await page.getByLabel("Password").fill(password)
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
}

const settled = async (page: Page) => {
  await page.locator("main h1").waitFor()
  await page.waitForLoadState("networkidle")
  await page.getByText("Loading …").first().waitFor({ state: "detached" })
}

const take = async (
  page: Page,
  url: string,
  { name, path, does }: Picture,
  [theme, width, height]: (typeof VARIANTS)[number],
  file: string,
) => {
  await page.emulateMedia({ colorScheme: theme })
  await page.setViewportSize({ width, height })
  await page.goto(`${url}/console/${path}`)
  await settled(page)
  await does?.(page)
  await page.waitForLoadState("networkidle")
  await page.screenshot({ path: file, caret: "initial" })
  process.stdout.write(`${name}: ${file}\n`)
}

const { values, positionals } = parseArgs({
  options: { all: { type: "boolean" }, folder: { type: "string" } },
  allowPositionals: true,
})
const folder = resolve(values.folder ?? join(ROOT, "docs/pictures"))
mkdirSync(folder, { recursive: true })
const chosen = PICTURES.filter(
  ({ name, readme }) =>
    (positionals.length === 0 || positionals.includes(name)) && (values.all || readme !== undefined),
)

await makeConsole(ROOT, true)
const dataDir = mkdtempSync(join(tmpdir(), "svc-pictures-"))
{
  await using platform = await startPlatform(
    readConfig({ SVC_DATA_DIR: dataDir, SVC_PORT: "0", SVC_LOG_LEVEL: "silent" }),
  )
  const { firstRun, url } = platform
  if (!firstRun) throw new Error("the folder is not new")
  await fillConsole(url, firstRun)
  const browser = await chromium.launch({
    executablePath: process.env.SVC_TEST_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  })
  try {
    const page = await (await browser.newContext()).newPage()
    page.on("pageerror", error => process.stderr.write(`${error.message}\n`))
    page.on("console", message => {
      if (message.type() === "error") process.stderr.write(`${message.text()}\n`)
    })
    await signIn(page, url, firstRun)
    for (const picture of chosen)
      for (const variant of VARIANTS) {
        const [theme, width] = variant
        if (values.all)
          await take(page, url, picture, variant, join(folder, `${picture.name}-${theme}-${width}.png`))
        else if (theme === picture.readme && width > 1000)
          await take(page, url, picture, variant, join(folder, `${picture.name}.png`))
      }
  } finally {
    await browser.close()
  }
}
rmSync(dataDir, { recursive: true, force: true })
process.exit()
