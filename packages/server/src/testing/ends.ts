/** What is opened for a test, or for anything else that ends, is closed then. */
export interface Ends {
  after(end: () => unknown): void
}
