/** The pages that were made by hand, in a real browser: what people do there, and that it happens at the platform. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { lookAt, open, signIn, skip } from "./console-browser.ts"
import { fillConsole } from "./console-world.ts"
import { eventually } from "./eventually.ts"

/** The console of a platform with something of every kind, opened at that page. */
const openAt = async (t: TestContext, path: string) => {
  const opened = await open(t)
  const svc = await fillConsole(opened.url, opened.firstRun)
  await opened.page.goto(`${opened.url}/console`)
  await signIn(opened.page, opened.firstRun)
  await opened.page.goto(`${opened.url}/console/${path}`)
  return { ...opened, svc }
}

test("SQL is written, run, explained and corrected where it is wrong; what destroys is asked about first", {
  skip,
}, async t => {
  const { page, problems, svc } = await openAt(t, "sql")
  const editor = page.locator(".sql-text .cm-content")
  const write = async (sql: string) => {
    await editor.click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insertText(sql)
  }
  const run = () => page.keyboard.press("ControlOrMeta+Enter")
  await page.locator(".tree summary", { hasText: "orders" }).waitFor()

  await write("SELECT count(*) AS many, '<img src=x onerror=alert(1)>' AS html, NULL AS nothing FROM orders")
  await run()
  await page.getByRole("cell", { name: "200", exact: true }).waitFor()
  await page.getByRole("cell", { name: "<img src=x onerror=alert(1)>" }).waitFor()
  await lookAt(page, "sql")

  await write("SELECT 1;\nSELECT frum FROM orders")
  await run()
  await page.getByRole("alert").getByText('column "frum" does not exist').waitFor()
  await page.getByRole("button", { name: "Show where" }).click()
  await page.keyboard.press("Shift+ArrowRight")
  assert.equal(
    await page.evaluate("String(document.querySelector('.sql-text').shadowRoot.getSelection())"),
    "f",
  )

  await write("SELECT * FROM orders WHERE id = 7")
  await page.getByRole("button", { name: "Explain" }).click()
  await page.locator(".plan", { hasText: "Index Scan" }).waitFor()

  const many = async () => (await svc.sql.execute({ sql: "SELECT count(*)::int AS n FROM orders" })).rows[0]
  await write("DELETE FROM orders")
  await run()
  const dialog = page.getByRole("dialog", { name: "This destroys data" })
  await dialog.getByText("Deletes every row of orders").waitFor()
  await dialog.getByRole("button", { name: "Cancel" }).click()
  assert.deepEqual(await many(), { n: 200 })
  await editor.click()
  await run()
  await dialog.getByRole("button", { name: "Run it" }).click()
  await page.locator(".status.good", { hasText: "DELETE" }).waitFor()
  assert.deepEqual(await many(), { n: 0 })
  assert.deepEqual(problems, [])
})

test("files are uploaded, shown, shared by a link that works, brought back and deleted by the dozen", {
  skip,
}, async t => {
  const { page, problems, svc } = await openAt(t, "files?bucket=pictures")
  await page.getByRole("link", { name: "<img src=x onerror=alert(1)>.txt" }).click()
  // What a tenant stored is a text here, and no page.
  await page.locator(".panel pre", { hasText: "<script>alert(1)</script>" }).waitFor()
  await page.getByRole("link", { name: "lighthouse.svg" }).click()
  await page.locator(".panel img").waitFor()
  await lookAt(page, "files")

  await page.getByRole("button", { name: "Make a link" }).click()
  const link = (await page.locator(".panel pre").textContent()) ?? ""
  assert.match(await (await fetch(link)).text(), /^<svg/)

  const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) })
  await page.locator("input[type=file]").setInputFiles([file("one.txt", "first"), file("two.txt", "second")])
  await page.getByText("2 files are through").waitFor()
  assert.equal(await (await svc.storage.getObject({ bucket: "pictures", key: "two.txt" })).text(), "second")

  await page.locator("input[type=file]").setInputFiles([file("one.txt", "changed")])
  await page.getByText("3 files are through").waitFor()
  await page.getByRole("link", { name: "one.txt" }).click()
  await page.locator(".panel pre", { hasText: "changed" }).waitFor()
  await page.getByRole("button", { name: "Restore" }).click()
  await page.locator(".panel pre", { hasText: "first" }).waitFor()

  await page.getByLabel("Choose one.txt").check()
  await page.getByLabel("Choose two.txt").check()
  await page.getByRole("button", { name: "Delete 2" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Delete 2" }).click()
  await page.getByRole("link", { name: "one.txt" }).waitFor({ state: "detached" })
  const { data } = await svc.storage.listObjects({ bucket: "pictures", delimiter: "/" })
  assert.equal(
    data.some(({ key }) => /^(one|two)/.test(key)),
    false,
  )
  assert.deepEqual(problems, [])
})

test("a key is made from a template and works; its high-risk call waits, is approved and done; then it is revoked", {
  skip,
}, async t => {
  const { page, problems, as } = await openAt(t, "keys?new=1")
  await page.getByRole("button", { name: "An agent" }).click()
  await page.getByLabel("Name").fill("night watch")
  await lookAt(page, "keys")
  await page.getByRole("button", { name: "Make the key" }).click()
  const secret = (await page.locator(".secret-text").textContent()) ?? ""
  const agent = as(secret)
  await agent.kv.set({ key: "seen", value: true })
  await agent.storage.createBucket({ name: "ropes" })
  await assert.rejects(agent.storage.deleteBucket({ name: "ropes" }), { code: "approval_required" })

  await page.getByRole("link", { name: "Approvals", exact: true }).first().click()
  const card = page.locator(".panel", { hasText: "/v1/storage/buckets/ropes" })
  await card.getByLabel("Comment").fill("go on")
  await lookAt(page, "approvals")
  await card.getByRole("button", { name: "Approve" }).click()
  await card.waitFor({ state: "detached" })
  await eventually("the bucket is gone", async () => {
    const { data } = await agent.storage.listBuckets()
    return !data.some(({ name }) => name === "ropes")
  })

  await page.getByRole("link", { name: "Keys", exact: true }).first().click()
  await page.getByRole("button", { name: "Revoke night watch" }).click()
  const dialog = page.getByRole("dialog", { name: "Revoke night watch?" })
  assert.ok(await dialog.getByRole("button", { name: "Revoke" }).isDisabled())
  await dialog.getByLabel("Type").fill("night watch")
  await dialog.getByRole("button", { name: "Revoke" }).click()
  await page.getByRole("button", { name: "Revoke night watch" }).waitFor({ state: "detached" })
  await assert.rejects(agent.kv.get({ key: "seen" }), { status: 401 })
  assert.deepEqual(problems, [])
})

test("a mail of a stranger is shown as it looks, and neither runs a script nor asks another host for anything", {
  skip,
}, async t => {
  const { page, svc, url } = await openAt(t, "mailbox?to=ada@example.com")
  const asked: string[] = []
  page.on("request", request => asked.push(request.url()))
  page.on("requestfailed", request => {
    if (request.failure()?.errorText === "csp") asked.splice(asked.indexOf(request.url()), 1)
  })
  await page.reload()
  const mail = page.frameLocator(".mail-frame")
  await mail.getByRole("heading", { name: "Welcome to the lighthouse, Ada" }).waitFor()
  const frame = page.frames().find(frame => frame.url().endsWith("/console/frame"))
  assert.equal(
    await frame?.evaluate("getComputedStyle(document.querySelector('h1')).color"),
    "rgb(36, 82, 201)",
  )
  assert.match(await mail.locator("body").innerText(), /One click/)
  await lookAt(page, "mailbox")
  await mail.getByRole("link", { name: "Confirm" }).click()
  await page.getByRole("tab", { name: "Text" }).click()
  await page.locator(".mail-text", { hasText: "Confirm your address" }).waitFor()
  await page.keyboard.press("ArrowRight")
  await page.locator(".mail-text", { hasText: "MIME-Version" }).waitFor()
  assert.deepEqual(
    asked.filter(address => !address.startsWith(url)),
    [],
  )
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByText("No mail to ada@example.com was caught.").waitFor()
  assert.equal((await svc.email.listInbox({})).total, 1)
})

test("rows are filtered by the key of another table, and staged edits are saved together or not at all", {
  skip,
}, async t => {
  const { page, problems, svc } = await openAt(t, "tables?table=public.orders")
  const row = async (sql: string) => (await svc.sql.execute({ sql })).rows[0]
  await page.getByRole("button", { name: "Open row 3", exact: true }).click()
  await page.locator(".panel").getByLabel("product").fill("Storm lantern")
  await page.getByRole("button", { name: "Stage", exact: true }).click()
  await page.getByRole("button", { name: "Open row 4", exact: true }).click()
  await page.locator(".panel").getByLabel("amount").fill("not a number")
  await lookAt(page, "tables")
  await page.getByRole("button", { name: "Stage", exact: true }).click()
  await page.keyboard.press("ControlOrMeta+s")
  await page.getByRole("alert").getByText("invalid input syntax").waitFor()
  assert.deepEqual(await row("SELECT product FROM orders WHERE id = 3"), { product: "Backpack" })

  await page.getByRole("button", { name: "Discard" }).click()
  await page.getByRole("button", { name: "Open row 3", exact: true }).click()
  await page.locator(".panel").getByLabel("product").fill("Storm lantern")
  await page.getByRole("button", { name: "Set notes to null" }).click()
  await page.getByRole("button", { name: "Stage", exact: true }).click()
  await page.getByRole("button", { name: "Open row 1", exact: true }).click()
  await page.getByRole("button", { name: "Stage its deletion" }).click()
  await page.keyboard.press("ControlOrMeta+s")
  await page.locator(".staged").waitFor({ state: "detached" })
  const after = await row(
    "SELECT count(*)::int AS n, max(product) FILTER (WHERE id = 3 AND notes IS NULL) AS p FROM orders",
  )
  assert.deepEqual(after, { n: 199, p: "Storm lantern" })

  await page.getByRole("link", { name: "4", exact: true }).first().click()
  await page.getByRole("button", { name: /^id is 4/ }).waitFor()
  await page.getByRole("cell", { name: "person4@example.com" }).waitFor()
  assert.equal(await page.locator(".grid tbody tr").count(), 1)
  assert.deepEqual(problems, [])
})

test("the overview counts what is there, and usage, playground and their empty pages have no finding", {
  skip,
}, async t => {
  const { page, problems, url } = await openAt(t, "")
  await page.locator(".tile", { hasText: "Approvals" }).getByText("wait for you").waitFor()
  await page.locator(".working").waitFor()
  await lookAt(page, "overview")
  for (const [path, words] of [
    ["usage", "By key"],
    ["playground", "No model answers here yet."],
    ["files", "pictures"],
    ["keys", "reports"],
    ["files?bucket=none", "none"],
  ] as const) {
    await page.goto(`${url}/console/${path}`)
    await page.locator("main").getByText(words).first().waitFor()
    await page.getByText("Loading …").first().waitFor({ state: "detached" })
    await lookAt(page, path)
  }
  assert.deepEqual(problems, [])
})
