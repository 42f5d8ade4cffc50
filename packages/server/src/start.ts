import type { Config } from "./config.ts"
import type { Passwords } from "./core/accounts/passwords.ts"
import type { Clock } from "./kernel/clock.ts"
import type { Logger } from "./kernel/log.ts"
import type { EnginePort } from "./ports/engine/port.ts"
import type { Module } from "./services.ts"

/** What a platform is started with. */
export interface Start {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly modules: readonly Module[]
  readonly templatesDir: string | undefined
  readonly passwords: Passwords
  /** In place of the one that the settings name. */
  readonly engine: EnginePort | undefined
  /** Whatever opens joins this stack, which closes it in reverse. */
  readonly opened: AsyncDisposableStack
}
