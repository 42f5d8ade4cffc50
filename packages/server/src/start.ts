import type { Config } from "./config.ts"
import type { Passwords } from "./core/accounts/passwords.ts"
import type { AreaModule } from "./kernel/area.ts"
import type { Clock } from "./kernel/clock.ts"
import type { Logger } from "./kernel/log.ts"
import type { Supply } from "./kernel/token.ts"

/** What a platform is started with. */
export interface Start {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly modules: readonly AreaModule[]
  readonly passwords: Passwords
  /** In place of what services would open. */
  readonly supplies: readonly Supply[]
  /** Whatever opens joins this stack, which closes it in reverse. */
  readonly opened: AsyncDisposableStack
}
