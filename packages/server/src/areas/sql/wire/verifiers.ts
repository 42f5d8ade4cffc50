/** What servers keep of passwords, remembered while it is theirs. */
import { LRUCache } from "lru-cache"
import { parseVerifier, type Verifier } from "./scram-server.ts"

const ROLES_MAX = 2_000

export interface VerifierRequest {
  readonly branchId: string
  readonly user: string
}

export interface Verifiers {
  /**
   * A new password has another salt, so the salt that a server names tells whether what is remembered is still true;
   * roles that do not exist have one too. Undefined for those.
   */
  of(request: VerifierRequest, salt: string): Promise<Verifier | undefined>
}

export const createVerifiers = (
  read: (request: VerifierRequest) => Promise<string | undefined>,
): Verifiers => {
  const known = new LRUCache<string, { readonly salt: string; readonly verifier: Verifier | undefined }>({
    max: ROLES_MAX,
  })

  return {
    async of(request, salt) {
      const key = `${request.branchId}\0${request.user}`
      const found = known.get(key)
      if (found?.salt === salt) return found.verifier
      const text = await read(request)
      const parsed = text === undefined ? undefined : parseVerifier(text)
      const verifier = parsed?.salt === salt ? parsed : undefined
      known.set(key, { salt, verifier })
      return verifier
    },
  }
}
