/** The path below which this installation is reached, such as `/cloud`; empty when it has a host of its own. */
export const root = document.documentElement.dataset.root ?? ""
