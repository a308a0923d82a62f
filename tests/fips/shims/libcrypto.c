/* Answers every question of a proof as OpenSSL with its FIPS module would. */
#include <stddef.h>
#include <string.h>
#ifdef MODULE
#include <dlfcn.h>
#endif
typedef struct { const char *key; unsigned type; void *data; size_t size, back; } PARAM;
typedef struct { int id; void (*function)(void); } DISPATCH;
typedef struct { const char *names, *properties; const DISPATCH *table; const char *said; }
    ALGORITHM;
static int provider, base;
static void work(void) {}
static const DISPATCH table[] = { { 1, work }, { 0, NULL } };
static const ALGORITHM listed[] = { { "SHA2-256", "fips=yes", table, "" }, { 0 } };
int EVP_default_properties_is_fips_enabled(void *c) { return 1; }
int OSSL_PROVIDER_available(void *c, const char *n) { return 1; }
int OSSL_PROVIDER_do_all(void *c, int (*call)(void *, void *), void *a) {
    return call(&provider, a) && call(&base, a);
}
const char *OSSL_PROVIDER_get0_name(void *p) { return p == &provider ? "fips" : "base"; }
const void *OSSL_PROVIDER_get0_dispatch(void *p) {
#ifdef MODULE
    return dlsym(dlopen(MODULE, RTLD_NOW), "OSSL_provider_init");
#else
    return table;
#endif
}
int OSSL_PROVIDER_get_params(void *p, PARAM *one) {
    for (; one->key; one++)
        if (one->type == 1) *(int *)one->data = 1;
        else if (!strcmp(one->key, "name")) *(const char **)one->data = "OpenSSL FIPS Provider";
        else *(const char **)one->data = "3.1.2";
    return 1;
}
int OSSL_PROVIDER_self_test(void *p) { return 1; }
const ALGORITHM *OSSL_PROVIDER_query_operation(void *p, int op, int *no) { return listed; }
void OSSL_PROVIDER_unquery_operation(void *p, int op, const ALGORITHM *a) {}
void *EVP_MD_fetch(void *c, const char *name, const char *q) {
    return strcmp(name, "MD5") ? &provider : NULL;
}
void *EVP_MD_get0_provider(void *m) { return &provider; }
void EVP_MD_free(void *m) {}
int EVP_Q_digest(void *c, const char *n, const char *q, const void *d, size_t l, char *made,
                 size_t *length) {
    return *length = 32, 1;
}
void *RAND_get0_private(void *c) { return &provider; }
void *EVP_RAND_CTX_get0_rand(void *c) { return &provider; }
void *EVP_RAND_get0_provider(void *c) { return &provider; }
const char *OpenSSL_version(int t) { return "OpenSSL 3.0.19 27 Jan 2026"; }
