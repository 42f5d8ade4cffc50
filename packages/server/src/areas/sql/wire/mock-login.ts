/**
 * A login that always fails, for branches that do not exist: PostgreSQL goes through the same exchange for users that
 * do not (its "mock authentication"), so that nobody learns which ones do.
 */
import { createHmac } from "node:crypto"
import type { Duplex } from "node:stream"
import type { ScramChallenge } from "./scram.ts"
import { challengeClient, readClientFirst } from "./scram-server.ts"

/** PostgreSQL's defaults: scram_iterations, and the length of its salts. */
const ITERATIONS = 4096
const SALT_BYTES = 16

/** The same each time for the same user and branch. */
export const mockChallenge = (secret: Buffer, identity: string): ScramChallenge => {
  const salt = createHmac("sha256", secret).update(identity).digest().subarray(0, SALT_BYTES)
  return { salt: salt.toString("base64"), iterations: ITERATIONS }
}

/**
 * Goes through SCRAM (RFC 5802) up to the client's proof; what it is makes no difference. False when the client went away. Throws a `WireRefusal` where a real login would.
 */
export const mockLogin = async (
  stream: Duplex,
  { secret, identity, binding }: { secret: Buffer; identity: string; binding: Buffer | undefined },
): Promise<boolean> => {
  const first = await readClientFirst(stream, binding)
  if (!first) return false
  const challenge = mockChallenge(secret, identity)
  return (await challengeClient(stream, first, challenge, binding)) !== undefined
}
