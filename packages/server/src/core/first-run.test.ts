import assert from "node:assert/strict"
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { PASSWORD, platform, type TestPlatform } from "../testing/platform.ts"
import { createPasswords } from "./accounts/passwords.ts"
import { refused, signedIn, stranger } from "./accounts/testing/people.ts"
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

const linkOf = ({ firstRun: made }: TestPlatform) => {
  const { origin, pathname, search, hash } = new URL(made?.sign_in_url ?? "")
  const { token = "", email = "" } = Object.fromEntries(new URLSearchParams(hash.slice(1)))
  return { origin, pathname, search, token, email, password: made?.password ?? "" }
}

const choose = (p: TestPlatform, token: string, password: string = PASSWORD) =>
  stranger(p).account.confirmPasswordReset({ token, password })

test("the link of the first start sets a password once, and no guess does", async t => {
  const p = await platform(t)
  const { origin, pathname, search, token, email, password } = linkOf(p)
  // A browser sends what follows the `#` to nobody.
  assert.deepEqual([origin, pathname, search], [p.config.baseUrl, "/console/first", ""])
  assert.match(token, /^svc_reset_[\w-]{43}$/)
  for (const guess of ["svc_reset_".padEnd(53, "A"), token.slice(0, -1), `${token}A`])
    await refused(choose(p, guess), "token_invalid_or_expired")
  await refused(choose(p, token, "short"), "weak_password")

  await choose(p, token)
  await refused(choose(p, token, `${PASSWORD} again`), "token_invalid_or_expired")
  await refused(stranger(p).account.login({ email, password }), "invalid_credentials")
  const { headers } = await stranger(p).request("account.login", { email, password: PASSWORD })
  assert.equal((await signedIn(p, headers).svc.account.get()).email, email)
})

test("the link sets no password after 15 minutes, and none once another was chosen", async t => {
  const p = await platform(t)
  const { token, email, password } = linkOf(p)
  const { headers } = await stranger(p).request("account.login", { email, password })
  const { svc } = signedIn(p, headers)
  await svc.account.update({ password: PASSWORD, current_password: password })
  await refused(choose(p, token, `${PASSWORD} again`), "token_invalid_or_expired")

  const late = await platform(t)
  await late.clock.advance(15 * 60_000)
  await refused(choose(late, linkOf(late).token), "token_invalid_or_expired")
})
