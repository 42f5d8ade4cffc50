import { hash, type Options, verify } from "@node-rs/argon2"
import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import { fault } from "../../kernel/fault.ts"

/** The minimum that OWASP's password storage cheat sheet gives for Argon2id, which is the library's algorithm. */
const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1
const parameters: Options = { memoryCost: MEMORY_KIB, timeCost: PASSES, parallelism: LANES }

/** A well-formed hash that no password has: checking against it costs what a real check costs. */
const DECOY = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${"A".repeat(22)}$${"A".repeat(43)}`

const WAITING_MAX = 64

/** One password typed on two keyboards can differ in bytes; NIST SP 800-63B, 3.1.1.2 asks for one form. */
const normalized = (password: string): string => password.normalize("NFKC")

/** A hash that another system made. */
export interface OtherHash {
  /** Whether it is the one that the password is checked by; else it is checked for the time that it takes. */
  readonly decides: boolean
  matches(password: string): Promise<boolean>
}

export interface Passwords {
  /** The PHC string to store. Throws `service_unavailable` when too many wait already. */
  hash(password: string): Promise<string>
  /**
   * Whether the password is the one hashed. Takes as long, and says no, where there is no hash: an unknown user.
   * With a hash of another system a wrong password costs both checks, whichever of them decides.
   */
  verify(password: string, stored: string | undefined, other?: OtherHash): Promise<boolean>
}

/**
 * Argon2id with at most `runningMax` hashes at a time. Each takes 19 MiB and a thread of the pool that files and DNS
 * also use, so without a bound a wave of sign-ins would starve everything else.
 */
export const createPasswords = (runningMax: number, waitingMax = WAITING_MAX): Passwords => {
  const semaphore = createSemaphore(runningMax, {
    waitingMax,
    full: () =>
      fault(
        "service_unavailable",
        { reason: "too many people are signing in" },
        { headers: { "retry-after": "2" } },
      ),
  })

  return {
    hash: password => semaphore.run(() => hash(normalized(password), parameters)),
    // In one place for both: a refusal between them would tell that the first has failed.
    verify: (password, stored, other) =>
      semaphore.run(async () => {
        if (other?.decides && (await other.matches(password))) return true
        const matches = await verify(stored ?? DECOY, normalized(password))
        if (matches && stored !== undefined) return true
        if (other && !other.decides) await other.matches(password)
        return false
      }),
  }
}
