/** What one area lets the others use. Areas start one after the other, so it is asked for when it is needed. */
export interface Offer<Service> {
  provide(service: Service): void
  /** Undefined before its area has started. */
  current(): Service | undefined
}

export const createOffer = <Service>(): Offer<Service> => {
  let provided: Service | undefined
  return {
    provide(service) {
      provided = service
    },
    current: () => provided,
  }
}
