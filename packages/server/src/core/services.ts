/** What modules may ask for: what exists from the start, what is opened with the first who needs it, and what areas offer. */
import { fault } from "../kernel/fault.ts"
import { createOffer, type OpenOffer } from "../kernel/offer.ts"
import type { ServiceModule } from "../kernel/service.ts"
import type { Settings, ValuesOf } from "../kernel/setting.ts"
import type { AtHand, Needs, OfferToken, OpenedToken, ServicesOf, Supply, Token } from "../kernel/token.ts"

/** What every module is given beside what it asks for. */
export interface OwnValues {
  readonly settings: ValuesOf<Settings>
}

export interface Services extends AsyncDisposable {
  /** Adds what exists only now. */
  supply(supplies: readonly Supply[]): void
  open<Service>(of: OpenedToken<Service>): Promise<Service>
  offer<Service>(of: OfferToken<Service>): OpenOffer<Service>
  /** What needs ask for and nothing has to be opened for. */
  atHand<Asked extends Needs>(needs: Asked): AtHand<Asked>
  /** All that needs ask for; opens what is not open yet. */
  gather<Asked extends Needs>(needs: Asked): Promise<ServicesOf<Asked>>
  /** Has jobs that are due open the modules that run them. */
  defer(deferJobs: (queues: readonly string[], open: () => Promise<void>) => void): void
  /** Opens what must be open before the platform is ready. */
  start(): Promise<void>
  /** Ends what is under way in what is open. */
  drain(waitMsMax: number): Promise<void>
}

export interface ServicesNeeds {
  readonly modules: readonly ServiceModule[]
  readonly settingsOf: (declared: Settings) => ValuesOf<Settings>
}

const isOpened = (of: Token<unknown>): of is OpenedToken<unknown> => of.kind === "opened"
const isOffered = (of: Token<unknown>): of is OfferToken<unknown> => of.kind === "offered"

export const createServices = ({ modules, settingsOf }: ServicesNeeds): Services => {
  const ready = new Map<Token<unknown>, unknown>()
  const offers = new Map<Token<unknown>, OpenOffer<unknown>>()
  const openers = new Map<Token<unknown>, ServiceModule>(modules.map(module => [module.provides, module]))
  const opening = new Map<Token<unknown>, Promise<unknown>>()
  const drains: ((waitMsMax: number) => Promise<void>)[] = []
  const stack = new AsyncDisposableStack()
  let isClosed = false

  const offer = <Service>(of: OfferToken<Service>): OpenOffer<Service> => {
    const known = offers.get(of) ?? createOffer<unknown>()
    offers.set(of, known)
    return known as OpenOffer<Service>
  }
  const find = (of: Token<unknown>): unknown => {
    if (isOffered(of)) return offer(of)
    if (!ready.has(of)) throw new Error(`nothing supplies ${of.name}`)
    return ready.get(of)
  }
  const atHand = (needs: Needs) =>
    Object.fromEntries(
      Object.entries(needs).flatMap(([name, of]) => (isOpened(of) ? [] : [[name, find(of)]])),
    )
  const gather = async (needs: Needs) => {
    const asked = Object.entries(needs).filter(([, of]) => isOpened(of))
    const opened = asked.map(async ([name, of]) => [name, await open(of as OpenedToken<unknown>)] as const)
    return { ...atHand(needs), ...Object.fromEntries(await Promise.all(opened)) }
  }
  const valuesFor = ({ settings = {} }: ServiceModule): OwnValues => ({ settings: settingsOf(settings) })

  const begin = async (of: Token<unknown>): Promise<unknown> => {
    if (isClosed) throw fault("service_unavailable", { reason: "the server is shutting down" })
    const module = openers.get(of)
    if (!module) throw new Error(`nothing opens ${of.name}`)
    const given = { ...(await gather(module.needs)), ...valuesFor(module) }
    return module.open(given, { opened: stack, onDrain: drain => void drains.push(drain) })
  }
  const open = <Service>(of: OpenedToken<Service>): Promise<Service> => {
    const known = opening.get(of)
    if (known) return known as Promise<Service>
    const made = ready.has(of) ? Promise.resolve(ready.get(of)) : begin(of)
    opening.set(of, made)
    made.catch(() => opening.delete(of))
    return made as Promise<Service>
  }

  return {
    supply(supplies) {
      for (const { token, service } of supplies) ready.set(token, service)
    },
    open,
    offer,
    // Built entry by entry from these needs, which the types of `Object.entries` do not follow.
    atHand: needs => atHand(needs) as AtHand<typeof needs>,
    gather: needs => gather(needs) as Promise<ServicesOf<typeof needs>>,
    defer(deferJobs) {
      for (const { provides, queues } of modules) {
        if (queues) deferJobs(queues, async () => void (await open(provides)))
      }
    },
    async start() {
      const early = modules.filter(
        module => module.atStart?.({ ...atHand(module.needs), ...valuesFor(module) }) === true,
      )
      await Promise.all(early.map(({ provides }) => open(provides)))
    },
    async drain(waitMsMax) {
      await Promise.all(drains.map(drain => drain(waitMsMax)))
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await Promise.allSettled(opening.values())
      await stack.disposeAsync()
    },
  }
}
