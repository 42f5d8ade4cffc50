/** What one area lets the others use. It is loaded when somebody asks. */
export interface Offer<Service> {
  /** Undefined where no area provides it. */
  get(): Promise<Service | undefined>
  /** Whether some area provides it, loaded or not. */
  isProvided(): boolean
  provide(service: Service): void
  /** Says that it is provided once this has resolved. */
  provideAfter(load: () => Promise<void>): void
}

export const createOffer = <Service>(): Offer<Service> => {
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
