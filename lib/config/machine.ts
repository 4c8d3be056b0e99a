/** Valid machine names, in config.json and in references (`<session>@<machine>`). */

export const MACHINE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
