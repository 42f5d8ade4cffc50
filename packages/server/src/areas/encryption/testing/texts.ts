/** Single texts through the SDK, whose replies have another form for several. */
import assert from "node:assert/strict"
import type { Svc } from "@svc/sdk"

export type Context = Record<string, string>

export const encrypted = async (svc: Svc, plaintext: string, context?: Context): Promise<string> => {
  const made = await svc.encryption.encrypt({ plaintext, ...(context && { context }) })
  assert.ok("ciphertext" in made)
  return made.ciphertext
}

export const decrypted = async (svc: Svc, ciphertext: string, context?: Context): Promise<string> => {
  const made = await svc.encryption.decrypt({ ciphertext, ...(context && { context }) })
  assert.ok("plaintext" in made)
  return made.plaintext
}

export const rewrapped = async (svc: Svc, ciphertext: string, context?: Context): Promise<string> => {
  const made = await svc.encryption.rewrap({ ciphertext, ...(context && { context }) })
  assert.ok("ciphertext" in made)
  return made.ciphertext
}

export const BOTH_SCOPES = ["encryption:use", "encryption:rotate"] as const
