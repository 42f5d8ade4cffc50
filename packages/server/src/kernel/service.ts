import type { MigrationSource } from "./db/migrate.ts"
import type { Settings, ValuesOf } from "./setting.ts"
import type { AtHand, Needs, OpenedToken, ServicesOf } from "./token.ts"

/** How long something that is opened lives. */
export interface Life {
  /** Whatever must be closed joins this stack, which closes it in reverse. */
  readonly opened: AsyncDisposableStack
  /** Called as the platform begins to stop, beside requests that still run: ends what is under way within that time. */
  onDrain(drain: (waitMsMax: number) => Promise<void>): void
}

type WithSettings<Declared extends Settings> = { readonly settings: ValuesOf<Declared> }

/**
 * What areas share and nobody calls from outside: the driver behind a port, deliveries, hosts. It is opened with the first
 * module that needs it, and costs nothing until then.
 */
export interface ServiceModule<
  Service = unknown,
  Asked extends Needs = Needs,
  Declared extends Settings = Settings,
> {
  readonly provides: OpenedToken<Service>
  readonly settings?: Declared
  /** What it is given when it is opened, and nothing else. */
  readonly needs: Asked
  readonly migrations?: MigrationSource
  /** Its queues and schedules, all of them: it is opened when a job of one is due. */
  readonly queues?: readonly string[]
  /** Whether it is opened before the platform is ready: an operator who names a server learns at once what is wrong. */
  atStart?(given: AtHand<Asked> & WithSettings<Declared>): boolean
  /** Imports its code and starts it. One that failed is tried again by whoever needs it next. */
  open(given: ServicesOf<Asked> & WithSettings<Declared>, life: Life): Service | Promise<Service>
}

/** Types a service by its token, its needs and its settings. */
export const defineService = <
  Service,
  const Asked extends Needs,
  const Declared extends Settings = Record<never, never>,
>(
  module: ServiceModule<Service, Asked, Declared>,
): ServiceModule => module as unknown as ServiceModule
