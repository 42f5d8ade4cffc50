/** What one area lets the others use, as those see it. The area is loaded when somebody asks. */
export interface Offer<Service> {
  /** Undefined where no area provides it. */
  get(): Promise<Service | undefined>
  /** Whether some area provides it, loaded or not. */
  isProvided(): boolean
}

export interface OpenOffer<Service> extends Offer<Service> {
  provide(service: Service): void
  /** Says that it is provided once this has resolved. */
  provideAfter(load: () => Promise<void>): void
}

/** The service itself, where one area cannot do without another. */
export const provided = async <Service>(offer: Offer<Service>): Promise<Service> => {
  const service = await offer.get()
  if (service === undefined) throw new Error("no area provides a service that another needs")
  return service
}

export const createOffer = <Service>(): OpenOffer<Service> => {
  let provided: Service | undefined
  let provider: (() => Promise<void>) | undefined
  return {
    async get() {
      if (provided === undefined) await provider?.()
      return provided
    },
    isProvided: () => provided !== undefined || provider !== undefined,
    provide(service) {
      provided = service
    },
    provideAfter(load) {
      provider = load
    },
  }
}
