import assert from "node:assert/strict"
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { platform, type TestPlatform } from "../testing/platform.ts"
import { createPasswords } from "./accounts/passwords.ts"
import { type FirstRun, firstRun } from "./first-run.ts"

const filesOf = ({ config }: TestPlatform) => ({
  file: join(config.dataDir, "first-run.json"),
  draft: join(config.dataDir, "first-run.json.draft"),
})

const again = ({ config, database, clock }: TestPlatform) =>
  firstRun({ config, database, passwords: createPasswords(1), now: new Date(clock.now()) })

test("the first start writes credentials that work to a file that only its owner reads; the next makes none", async t => {
  const p = await platform(t)
  const { file, draft } = filesOf(p)
  const made: FirstRun = JSON.parse(readFileSync(file, "utf8"))

  assert.deepEqual(p.firstRun, made)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(existsSync(draft), false)
  const { organization, project } = await p.as(made.api_key).identity.me()
  assert.deepEqual([organization.id, project?.id], [made.organization_id, made.project_id])
  // One key for all of it: what belongs to the organization too.
  await p.as(made.api_key).email.suppress({ email: "nobody@example.com" })
  const { email, password } = made
  const signedIn = await p.as("").account.login({ email, password })
  assert.equal("user" in signedIn && signedIn.user.email, email)

  assert.equal(await again(p), undefined)
})

test("credentials whose start died right after the commit are told by the next one", async t => {
  const p = await platform(t)
  const { file, draft } = filesOf(p)
  renameSync(file, draft)

  assert.deepEqual(await again(p), p.firstRun)
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), p.firstRun)
  assert.equal(await again(p), undefined)
})

test("credentials that were never committed do not become a file", async t => {
  const p = await platform(t)
  const { file, draft } = filesOf(p)
  const lost = { ...p.firstRun, organization_id: "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10" }
  for (const text of [JSON.stringify(lost), '{"base_url": "ht', ""]) {
    writeFileSync(draft, text)
    assert.equal(await again(p), undefined)
    assert.equal(existsSync(draft), false)
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), p.firstRun)
  }
})
