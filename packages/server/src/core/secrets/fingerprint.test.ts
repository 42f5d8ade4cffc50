import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { platform } from "../../testing/platform.ts"
import { checkMasterKey } from "./fingerprint.ts"

test("a process with another master key than the database's does not start", async t => {
  const { database } = await platform(t)

  await assert.rejects(checkMasterKey(database.db, randomBytes(32)), { name: "StartupError" })
})
