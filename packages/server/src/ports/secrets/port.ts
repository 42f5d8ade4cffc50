/**
 * Wraps the data keys of tenants under a key that never leaves the engine, so that the control database holds nothing
 * that opens anything by itself.
 *
 * Promises, tested by `conformance.ts`:
 *
 * - A wrapped key opens with the context it was wrapped in, and with no other; one changed bit and it does not.
 * - Two wraps of one key differ.
 * - What an engine wrapped it opens after any rotation of its own key, and after a restart.
 * - Bounds: every call ends within the driver's timeout.
 * - Errors: a `PortError`. `refused`: this text was not wrapped so, by this engine; `unavailable`: the engine does not
 *   answer, does not know the platform, or belongs to another driver.
 */
import { openedToken } from "../../kernel/token.ts"

export interface SecretsPort extends AsyncDisposable {
  /** `context` says whose key it is and which; no secret. The text is printable, at most 1,000 characters. */
  wrap(key: Uint8Array, context: string): Promise<string>
  unwrap(wrapped: string, context: string): Promise<Buffer>
  health(): Promise<SecretsHealth>
}

export type SecretsHealth =
  | {
      readonly ok: true
      /** How every text begins that is wrapped from now on; what begins otherwise is worth wrapping again. */
      readonly generation: string
    }
  | { readonly ok: false; readonly reason: string }

export const secrets = openedToken<SecretsPort>("secrets")
