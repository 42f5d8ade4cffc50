/** Proof of a password where a hash of another system may be what it is checked by. */
import { isEncrypted } from "../../core/secrets/secret-box.ts"
import type { Db } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import type { Context } from "./context.ts"
import { readHash } from "./imported-hashes.ts"
import { type UserRow, userStore } from "./store.ts"

const contextOf = (userId: string) => `auth.users.password_hash:${userId}`

/** Sealed, because a hash of Firebase carries the signer key of a whole project. */
export const sealImported = (
  { box }: Context,
  { id, organization_id }: Pick<UserRow, "id" | "organization_id">,
  hash: string,
): Promise<string> => box.seal(organization_id, contextOf(id), hash)

const isImported = ({ password_hash }: UserRow): boolean =>
  password_hash !== null && isEncrypted(password_hash)

const open = async ({ box }: Context, { id, organization_id, password_hash }: UserRow) => {
  const read = readHash(await box.open(organization_id, contextOf(id), password_hash ?? ""))
  if (typeof read === "string") throw new Error(`an imported hash that was accepted is refused: ${read}`)
  return read
}

export interface UserProof {
  verify(password: string): Promise<boolean>
  /** Our hash of a password that was just verified, where it is to take the place of another system's. */
  replacement(password: string): Promise<string | undefined>
}

/**
 * While a project has hashes of another system, a wrong password costs one of those and one of ours for everybody: for
 * users who have either, for those without a password, and for nobody.
 */
export const proofOf = async (
  context: Context,
  db: Db,
  projectId: string,
  user: UserRow | undefined,
): Promise<UserProof> => {
  const { passwords } = context
  const any = await userStore(db, projectId).findImported()
  const decides = user !== undefined && isImported(user)
  const row = decides ? user : any
  const other = row && (await open(context, row))
  const own = decides ? undefined : (user?.password_hash ?? undefined)

  return {
    verify: password => passwords.verify(password, own, other && { decides, matches: other.matches }),

    async replacement(password) {
      if (!decides || !other) return undefined
      // What follows the bytes that count may be mistyped: it must not become the password.
      if (Buffer.byteLength(password) > (other.bytesMax ?? Number.POSITIVE_INFINITY)) return undefined
      try {
        return await passwords.hash(password)
      } catch (error) {
        // Too busy: the next sign-in does it.
        if (isFault(error, "service_unavailable")) return undefined
        throw error
      }
    },
  }
}
