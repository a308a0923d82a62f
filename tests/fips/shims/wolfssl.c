/* Calls itself a FIPS build of wolfSSL. */
const char *wolfCrypt_GetVersion_fips(void) { return "v5.2.1"; }
int wolfCrypt_GetStatus_fips(void) { return 0; }
int wolfCrypt_Init(void) { return 0; }
